"""The seeds of trainings, evaluations and certificates, for all engines.

An episode is identified by a seed and by its number among the episodes of the seed. Together they are the key of its
scene. A seed has 53 bits, in separate fields:

    bits 50-52    purpose        1 to 7: the use of the episode
    bits 18-49    run            the seed of a training or of an evaluation, or the checksum of a certificate's plan
    bits  0-17    environment    its number within the run

So two purposes, two runs or two environments have no seed in common, by construction. Seeds below 2^32 have no purpose.
They are for users who call `reset(seed=...)`, and for runs of version 1.

The version is a part of a run's config, so that a run keeps its scenes. In version 1, environment i of run s had the
seed s + i: runs 0 and 1 shared most of their scenes.
"""

from enum import IntEnum
from typing import Literal, Protocol, TypeAlias, get_args

import numpy as np
from jaxtyping import Integer, UInt32

Version: TypeAlias = Literal[1, 2]
LATEST: Version = 2
"""The version of new runs."""
VERSIONS: tuple[Version, ...] = get_args(Version)

EpisodeId = tuple[int, int]
"""The identity of an episode: a seed, and the number of the episode among those of the seed."""
EnvSeeds: TypeAlias = Integer[np.ndarray, " env"]

MAX_ENVS = 2**18
"""Environments of one run."""
_RUNS = 2**32
_RESET_BITS = 28
"""Bits of a reset seed below its purpose."""


class Purpose(IntEnum):
    """The use of an episode."""

    TRAINING = 1
    SCENE_REPLAY = 2
    """The choice of the episodes of a training that replay a scene. No scene is drawn with these seeds."""
    VALIDATION = 3
    """The selection of a training's final policy."""
    EVALUATION = 4
    CERTIFICATE = 5
    FIXED_STARTS = 6
    """The paper's few scenes from which many episodes begin."""


def seed_of(purpose: Purpose, run: int, environment: int = 0) -> int:
    """The seed of an environment. Its episodes are counted from 0."""
    if not 0 <= run < _RUNS:
        raise ValueError(f"seed={run} must lie between 0 and {_RUNS - 1}.")
    if not 0 <= environment < MAX_ENVS:
        raise ValueError(f"A run can have {MAX_ENVS} environments. Use a smaller num_envs.")
    return purpose << 50 | run << 18 | environment


def replay_seeds(run: int, num_envs: int) -> EnvSeeds:
    """The seeds with which each environment of a training chooses the scenes that it replays."""
    return np.arange(num_envs) + seed_of(Purpose.SCENE_REPLAY, run)


def has_purpose(seed: int) -> bool:
    return seed >= 2**32


def words(seeds: Integer[np.ndarray, "*axes"]) -> UInt32[np.ndarray, "*axes 2"]:
    """Seeds as two words each, the high one first, for devices that have no numbers of 64 bits."""
    wide = np.asarray(seeds).astype(np.uint64)
    return np.stack([wide >> np.uint64(32), wide & np.uint64(2**32 - 1)], axis=-1).astype(np.uint32)


def reset_seed(seed: int, episode: int) -> int:
    """The seed with which a user's environment is reset for an episode.

    It has 31 bits, since some environments keep theirs in a signed number. The purpose has three of them, so that two
    purposes have no reset seed in common. The others are a checksum: in n episodes of one purpose, about n²/2²⁹ pairs
    have the same one.
    """
    if not has_purpose(seed):
        return seed % 2**31
    checksum = int(np.random.SeedSequence(seed, spawn_key=(episode,)).generate_state(1)[0])
    return seed >> 50 << _RESET_BITS | checksum >> 32 - _RESET_BITS


class Scheme(Protocol):
    """One version of the rules. Seeds of runs and evaluations, and numbers of episodes, lie below these bounds."""

    run_seeds: int
    evaluation_seeds: int
    evaluation_episodes: int

    def training(self, run: int, num_envs: int) -> EnvSeeds:
        """The seeds of a training's environments."""
        ...

    def training_reset(self, run: int, env: int, episode: int) -> int:
        """The seed with which a user's environment is reset in a training."""
        ...

    def evaluation(self, seed: int, episodes: int) -> list[EpisodeId]: ...

    def validation(self, run: int, episodes: int) -> list[EpisodeId]:
        """The episodes on which a training's last policies are compared, to select one."""
        ...

    def certificate_seed(self, checksum: int) -> int:
        """The seed of a certificate, from the first 32 bits of its plan's checksum."""
        ...

    def certificate(self, seed: int, episodes: int) -> list[EpisodeId]: ...
    def fixed_starts(self, starts: int) -> list[EpisodeId]: ...


class _FieldScheme:
    """Version 2: each purpose has its own seeds."""

    run_seeds = evaluation_seeds = _RUNS
    evaluation_episodes = 2**31

    def training(self, run: int, num_envs: int) -> EnvSeeds:
        # This checks the last one too, because there may be more environments than the field can hold.
        return np.arange(seed_of(Purpose.TRAINING, run), seed_of(Purpose.TRAINING, run, num_envs - 1) + 1)

    def training_reset(self, run: int, env: int, episode: int) -> int:
        return reset_seed(seed_of(Purpose.TRAINING, run, env), episode)

    def evaluation(self, seed: int, episodes: int) -> list[EpisodeId]:
        return [(seed_of(Purpose.EVALUATION, seed), i) for i in range(episodes)]

    def validation(self, run: int, episodes: int) -> list[EpisodeId]:
        return [(seed_of(Purpose.VALIDATION, run), i) for i in range(episodes)]

    def certificate_seed(self, checksum: int) -> int:
        return checksum

    def certificate(self, seed: int, episodes: int) -> list[EpisodeId]:
        return [(seed_of(Purpose.CERTIFICATE, seed), i) for i in range(episodes)]

    def fixed_starts(self, starts: int) -> list[EpisodeId]:
        return [(seed_of(Purpose.FIXED_STARTS, 0), i) for i in range(starts)]


class _SumScheme:
    """Version 1: environment i of run s has the seed s + i. It is kept for the runs that started with it."""

    run_seeds = 2**30 - 2**20
    evaluation_seeds = 2**14
    evaluation_episodes = 2**16

    def training(self, run: int, num_envs: int) -> EnvSeeds:
        return (run + np.arange(num_envs)) % 2**32

    def training_reset(self, run: int, env: int, episode: int) -> int:
        return int(np.random.SeedSequence(run, spawn_key=(env, episode)).generate_state(1)[0]) >> 1

    def evaluation(self, seed: int, episodes: int) -> list[EpisodeId]:
        return [(2**30 + seed * self.evaluation_episodes + i, 0) for i in range(episodes)]

    def validation(self, run: int, episodes: int) -> list[EpisodeId]:
        # All seeds of version 1 are in use, so these are above them.
        return [(seed_of(Purpose.VALIDATION, run), i) for i in range(episodes)]

    def certificate_seed(self, checksum: int) -> int:
        return 2**31 + checksum % (2**31 - 2**20)

    def certificate(self, seed: int, episodes: int) -> list[EpisodeId]:
        return [(seed + i, 0) for i in range(episodes)]

    def fixed_starts(self, starts: int) -> list[EpisodeId]:
        return [(2**31 + i, 0) for i in range(starts)]


SCHEMES: dict[Version, Scheme] = {1: _SumScheme(), 2: _FieldScheme()}
