"""Trees as rows of numbers, and back."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ascpo.engines.packed import Packed


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Inner:
    grid: object
    over: object


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Outer:
    reward: object
    count: object
    inner: Inner
    maybe: object = None


def tree(xp=np):
    inner = Inner(xp.arange(6, dtype="f4").reshape(2, 3), xp.asarray(True))
    return Outer(xp.asarray(0.5, "f4"), xp.asarray(7, "i4"), inner)


PACKED = Packed.like(tree())


def test_a_tree_is_packed_in_the_order_of_its_fields():
    assert_array_equal(jax.jit(PACKED.pack)(tree(jnp)), [0.5, 7.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 1.0])
    assert PACKED.width == 9
    assert PACKED.at == {"reward": 0, "count": 1, "inner.grid": slice(2, 8), "inner.over": 8}


@pytest.mark.parametrize("unpack", [PACKED.unpack, jax.jit(PACKED.unpack)])
def test_unpacking_gives_what_was_packed(unpack):
    rows = np.tile(np.asarray(PACKED.pack(tree(jnp))), (4, 5, 1))
    found = unpack(rows)
    assert jax.tree.structure(found) == jax.tree.structure(tree())
    for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(tree()), strict=True):
        assert (one.dtype, one.shape) == (two.dtype, (4, 5, *two.shape))
        assert_array_equal(one, np.broadcast_to(two, one.shape))


def test_numbers_are_views_of_the_rows():
    rows = np.zeros((3, PACKED.width), np.float32)
    found = PACKED.unpack(rows)
    rows[1, PACKED.at["reward"]] = 2.0
    rows[2, PACKED.at["inner.grid"]] = 3.0
    assert_array_equal(found.reward, [0.0, 2.0, 0.0])
    assert_array_equal(found.inner.grid[2], np.full((2, 3), 3.0))


def test_packing_another_tree_is_refused():
    with pytest.raises(ValueError, match="is not packed like"):
        PACKED.pack(Outer(jnp.zeros(2), jnp.zeros((), int), Inner(jnp.zeros((2, 3)), jnp.zeros((), bool))))


def test_layouts_are_equal_by_value():
    assert Packed.like(tree()) == PACKED
    assert hash(Packed.like(tree())) == hash(PACKED)
