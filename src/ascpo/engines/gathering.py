"""Arrays whose parts lie on the devices of several hosts, brought to each of them."""

from typing import TypeVar

import jax
from jax.experimental.multihost_utils import process_allgather

Tree = TypeVar("Tree")


def gather(tree: Tree) -> Tree:
    """Every array as a whole, on this host. Where it lies on this host alone, nothing is done.

    All hosts have to ask at the same time: each of them sends its parts to the others.
    """
    return jax.tree.map(_whole, tree)


def _whole(leaf: object) -> object:
    if not isinstance(leaf, jax.Array) or leaf.is_fully_addressable:
        return leaf
    if leaf.is_fully_replicated:
        return leaf.addressable_data(0)
    return jax.numpy.asarray(process_allgather(leaf, tiled=True))
