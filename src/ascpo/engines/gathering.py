"""Gathering: arrays whose parts are on the devices of several hosts become whole arrays on every host."""

from typing import TypeVar

import jax
from jax.experimental.multihost_utils import process_allgather

Tree = TypeVar("Tree")


def gather(tree: Tree) -> Tree:
    """The tree with whole arrays on this host. Arrays that are on this host already are returned as they are.

    This is a collective operation: all hosts must call it together, since each sends its parts to the others.
    """
    return jax.tree.map(_whole, tree)


def _whole(leaf: object) -> object:
    if not isinstance(leaf, jax.Array) or leaf.is_fully_addressable:
        return leaf
    if leaf.is_fully_replicated:
        return leaf.addressable_data(0)
    return jax.numpy.asarray(process_allgather(leaf, tiled=True))
