"""Candidates for the final policy: the policies after each of the last epochs, and their mean."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ascpo.runs.source import Source
from ascpo.training.agent import Agent
from ascpo.training.recent import last_thetas, mean_theta
from ascpo.training.state import TrainingState


@dataclass(frozen=True, eq=False)
class Candidate:
    """A policy and its source."""

    theta: Float[np.ndarray, " q"]
    """The vector that decides how its actor acts. Observation units and shield are always those of the last epoch."""
    source: Source


def candidates_of(agent: Agent, state: TrainingState) -> list[Candidate]:
    """The policies after each of the last epochs, the latest last, and finally the mean."""
    learner, end = state.learner, state.epochs
    thetas = last_thetas(learner.recent, learner.policy.theta)
    beside = np.asarray(agent.acting(learner))[thetas.shape[1] :]
    first, n = end - len(thetas) + 1, min(len(thetas), agent.settings.averaged_policies(end))
    sources = [*(_single(first + i, end) for i in range(len(thetas))), Source("average", end - n + 1, end)]
    every = [*thetas, mean_theta(thetas[-n:])]
    return [Candidate(np.concatenate([theta, beside]), one) for theta, one in zip(every, sources, strict=True)]


def _single(epochs: int, end: int) -> Source:
    # An earlier policy is the final one only if it was selected.
    return Source("last" if epochs == end else "selected", epochs, epochs)
