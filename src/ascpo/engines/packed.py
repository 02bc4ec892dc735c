"""Trees of arrays, packed as rows of numbers: compiled calls with few arrays are faster than with many."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ascpo.guard.layout import AnyArray
from ascpo.guard.suites import consecutive

Tree = TypeVar("Tree")


@dataclass(frozen=True)
class Packed(Generic[Tree]):
    """The layout of the arrays of a tree in a row of single-precision numbers."""

    structure: object
    """JAX's definition of the tree."""
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...]

    @staticmethod
    def like(example: Tree) -> "Packed[Tree]":
        """The layout of trees with the same fields, shapes and types as this one."""
        found, structure = jax.tree_util.tree_flatten_with_path(example)
        paths, leaves = zip(*found, strict=True)
        names = tuple(jax.tree_util.keystr(path, simple=True, separator=".") for path in paths)
        return Packed(structure, names, tuple(map(np.shape, leaves)), tuple(np.dtype(leaf.dtype) for leaf in leaves))

    @cached_property
    def at(self) -> dict[str, int | slice]:
        """The position of each array in the last axis of rows, by its name, such as `outcome.reward`."""
        parts = zip(self.names, self.shapes, consecutive(map(math.prod, self.shapes)), strict=True)
        return {name: part if shape else part.start for name, shape, part in parts}

    @property
    def width(self) -> int:
        return sum(map(math.prod, self.shapes))

    def pack(self, tree: Tree) -> Float[Array, " packed"]:
        """One tree as a row."""
        leaves, structure = jax.tree.flatten(tree)
        shapes = tuple(np.shape(leaf) for leaf in leaves)
        if (structure, shapes) != (self.structure, self.shapes):
            raise ValueError(f"A tree {structure} of shapes {shapes} is not packed like {self}.")
        return jnp.concatenate([jnp.ravel(leaf).astype(jnp.float32) for leaf in leaves])

    def unpack(self, rows: Float[AnyArray, "*axes packed"]) -> Tree:
        """The tree of a row, or of many. From NumPy rows, single-precision arrays are views."""
        parts = []
        for place, shape, dtype in zip(self.at.values(), self.shapes, self.dtypes, strict=True):
            part = rows[..., place].reshape(*rows.shape[:-1], *shape)
            parts.append(part > 0 if dtype.kind == "b" else part.astype(dtype) if dtype != np.float32 else part)
        return jax.tree.unflatten(self.structure, parts)
