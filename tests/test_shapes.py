"""What the checks of shapes find, and what they leave alone."""

import jax.numpy as jnp
import jaxtyping
import pytest
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Array, Float

from tests.shapes import check_arrays, where_shapes_are

checked = where_shapes_are(jaxtyping._decorator.jaxtyped)


@pytest.mark.parametrize("typechecker", [beartype, check_arrays])
def test_axes_of_the_same_name_have_the_same_length(typechecker):
    @checked(typechecker=typechecker)
    def add(x: Float[Array, " n"], y: Float[Array, " n"]):
        return x + y

    assert add(jnp.ones(2), jnp.ones(2)).shape == (2,)
    with pytest.raises(BeartypeCallHintViolation):
        add(jnp.ones(2), jnp.ones(1))


def test_types_of_a_function_without_arrays_are_checked_in_the_inner_layers_alone():
    def double(n: int) -> int:
        return 2 * n

    with pytest.raises(Exception, match="violates type hint"):
        checked(typechecker=beartype)(double)("a")
    assert checked(typechecker=check_arrays)(double)("a") == "aa"
    assert double.__annotations__ == {"n": int, "return": int}
