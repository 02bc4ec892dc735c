"""Playlists: the assignment of the episodes of a list to environments."""

import numpy as np
from jaxtyping import Int


class Playlist:
    """Assigns the episodes of a list to environments.

    Environments start with the first episodes. An environment whose episode ends takes the one that is reserved for it
    and reserves the next, in the order of the environments. So every episode of the list is played to its end, whether
    long or short, and no environment is idle before the end of the list.
    """

    def __init__(self, num_envs: int) -> None:
        self.current: Int[np.ndarray, " env"] = np.arange(num_envs)
        """Positions in the list, which continue beyond its end."""
        self.reserved: Int[np.ndarray, " env"] = num_envs + np.arange(num_envs)
        self._next = 2 * num_envs

    def end(self, envs: Int[np.ndarray, " n"]) -> None:
        """The episodes of these environments, in rising order, have ended."""
        self.current[envs] = self.reserved[envs]
        self.reserved[envs] = self._next + np.arange(len(envs))
        self._next += len(envs)
