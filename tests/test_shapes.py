"""What the checks of shapes find, and what they leave alone."""

from dataclasses import dataclass

import jax.numpy as jnp
import jaxtyping
import pytest
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Array, Float

from tests.shapes import check_arrays, unchecked, where_shapes_are

checked = where_shapes_are(jaxtyping._decorator.jaxtyped)


@pytest.mark.parametrize("typechecker", [beartype, check_arrays])
def test_axes_of_the_same_name_have_the_same_length(typechecker):
    @checked(typechecker=typechecker)
    def add(x: Float[Array, " n"], y: Float[Array, " n"]):
        return x + y

    assert add(jnp.ones(2), jnp.ones(2)).shape == (2,)
    with pytest.raises(BeartypeCallHintViolation):
        add(jnp.ones(2), jnp.ones(1))


def test_types_of_functions_without_arrays_are_checked_only_in_the_inner_layers():
    def double(n: int) -> int:
        return 2 * n

    with pytest.raises(Exception, match="violates type hint"):
        checked(typechecker=beartype)(double)("a")
    assert checked(typechecker=check_arrays)(double)("a") == "aa"
    assert double.__annotations__ == {"n": int, "return": int}


def test_the_fields_of_a_record_are_checked_together_even_in_base_classes():
    @checked(typechecker=beartype)
    @dataclass
    class Pair:
        x: Float[Array, " n"]
        y: Float[Array, " n"]

    @checked(typechecker=beartype)
    class Named(Pair):
        name = "pair"

    for kind in (Pair, Named):
        assert kind(jnp.ones(2), jnp.ones(2)).y.shape == (2,)
        with pytest.raises(BeartypeCallHintViolation):
            kind(jnp.ones(2), jnp.ones(1))
    assert Named.__init__ is Pair.__init__


def test_a_record_is_not_checked_where_shapes_are_unchecked():
    @checked(typechecker=beartype)
    @dataclass
    class Single:
        x: Float[Array, " n"]

    with unchecked():
        assert Single(jnp.ones((2, 2))).x.shape == (2, 2)
