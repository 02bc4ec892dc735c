from functools import partial

import jax
import jax.numpy as jnp
import pytest
from numpy.testing import assert_array_equal

from ascpo.engines.precision import precise

A = jnp.arange(12.0).reshape(3, 4) / 7


def product(A):
    return A @ A.T


def traced(function):
    return str(jax.make_jaxpr(function)(A))


@pytest.mark.parametrize("around", [lambda f: jax.jit(precise(f)), lambda f: precise(jax.jit(f))])
def test_a_precise_product_is_marked_in_the_compiled_program(around):
    lowered = jax.jit(around(product)).lower(A).as_text()
    assert "precision = [HIGHEST, HIGHEST]" in lowered
    assert "HIGHEST" not in jax.jit(product).lower(A).as_text()


def test_one_function_may_be_used_with_and_without_precision():
    compiled = jax.jit(product)
    assert "HIGHEST" not in traced(compiled)
    assert "HIGHEST" in traced(precise(compiled))
    assert "HIGHEST" not in traced(compiled)


def test_derivatives_and_loops_inside_are_precise_too():
    @precise
    def slope(A):
        return jax.grad(lambda A: jax.lax.scan(lambda B, _: (product(B) @ A, None), A, length=2)[0].sum())(A)

    products = [line for line in jax.jit(slope).lower(A).as_text().splitlines() if "dot_general" in line]
    assert len(products) > 2
    assert all("precision = [HIGHEST, HIGHEST]" in line for line in products)


def test_methods_that_are_compiled_may_be_precise():
    class Doubling:
        @partial(jax.jit, static_argnums=0)
        @precise
        def square(self, A):
            """Its own product."""
            return product(A)

    assert_array_equal(Doubling().square(A), product(A))
    assert Doubling.square.__doc__ == "Its own product."
