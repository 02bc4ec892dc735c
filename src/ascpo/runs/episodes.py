"""Play a fixed list of episodes, each to its end. A limit on the steps would be biased towards short episodes."""

import heapq
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from ascpo.choices import LimitKind
from ascpo.engines.actor import Actor
from ascpo.engines.contract import EpisodePlayer, Rollout
from ascpo.engines.divergence import Divergence, Simulating
from ascpo.engines.playlist import Playlist
from ascpo.experience.episodes import over_limit
from ascpo.guard.layout import AnyArray
from ascpo.networks.shield import CHANGED, moved_by
from ascpo.seeding import EpisodeId

OnProgress = Callable[[int], object]
"""Called with the number of finished episodes."""
EXPLAIN_AFTER = 30.0
"""Seconds without a finished episode after which a warning is logged, repeatedly."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Episodes:
    """Whole episodes, one per row, in the order of their list."""

    reward: Float[np.ndarray, " n"]
    cost: Float[np.ndarray, "n m"]
    maximum: Float[np.ndarray, "n m"]
    """The largest cost of any state."""
    length: Int[np.ndarray, " n"]
    time_limited: Bool[np.ndarray, " n"]
    first_violation: Int[np.ndarray, "n m"]
    """The first step over the limit, counted from 0, or -1. If the limit bounds an episode's sum, it is the step in
    which the sum exceeds it, or -1 if later negative costs brought the whole sum within the limit again."""
    violating: Int[np.ndarray, "n m"]
    """The number of steps over the limit."""
    interventions: Int[np.ndarray, " n"]
    """Steps whose action a shield changed."""

    def __len__(self) -> int:
        return len(self.reward)

    def limited(self, kind: LimitKind) -> Float[np.ndarray, "n m"]:
        """The quantity that limits of this kind bound."""
        return self.maximum if kind == "state" else self.cost

    @property
    def safe(self) -> Bool[np.ndarray, " n"]:
        """Whether all limits were kept during the whole episode."""
        return np.all(self.first_violation < 0, axis=1)


@dataclass(frozen=True)
class KeptEpisode:
    """An episode whose actions are kept for a replay."""

    row: int
    """Index of the episode."""
    actions: Float[np.ndarray, "time act"]
    """The actions that the environment took."""


@dataclass(frozen=True)
class Played:
    """Episodes, and the kept ones, the worst first."""

    episodes: Episodes
    worst: tuple[KeptEpisode, ...]


def no_progress(_: int) -> None: ...


def counted_from(on_progress: OnProgress, before: int) -> OnProgress:
    """The same function, called with the earlier episodes included."""
    return lambda done: on_progress(before + done)


def play(
    engine: EpisodePlayer,
    actor: Actor,
    theta: Float[AnyArray, " p"],
    origins: Sequence[EpisodeId],
    *,
    limits: tuple[float, ...],
    limits_on: LimitKind = "state",
    mean_action: bool = False,
    keep: int = 0,
    on_progress: OnProgress = no_progress,
) -> Played:
    """Play a list of episodes, and keep the actions of the worst ones.

    An episode whose simulation diverges violates all limits.
    """
    engine.start_at(actor, origins)
    earlier, broken = _divergences(engine), set[EpisodeId]()
    score = _Score(len(origins), engine.envs_per_run, engine.action_size, np.array(limits, float), limits_on, keep)
    parameters = np.asarray(theta)[None]
    rng, chunk = np.random.default_rng(origins[0][0]), 25
    waiting = _StallWarning()
    while (finished := score.finished) < len(origins):
        on_progress(finished)
        waiting.see(score, len(origins))
        noise = rng.standard_normal((chunk, engine.envs_per_run, engine.action_size)).astype(np.float32)
        (rollout,) = engine.collect([parameters], [(np.zeros_like(noise) if mean_action else noise)[None]])
        score.add(jax.tree.map(lambda x: np.asarray(x)[0], rollout))
        broken |= {(one.seed, one.episode) for one in _divergences(engine) if not any(one is e for e in earlier)}
    on_progress(len(origins))
    return score.played([row for row, origin in enumerate(origins) if origin in broken])


def _divergences(engine: EpisodePlayer) -> list[Divergence]:
    return list(engine.divergences) if isinstance(engine, Simulating) else []


class _StallWarning:
    """Logs a warning when no episode ends for a while. Without a time limit, episodes may never end."""

    def __init__(self) -> None:
        self._finished, self._since = -1, time.monotonic()

    def see(self, score: "_Score", wanted: int) -> None:
        now = time.monotonic()
        if score.finished != self._finished:
            self._finished, self._since = score.finished, now
        elif now - self._since >= EXPLAIN_AFTER:
            self._since = now
            running, longest = score.running
            _log.warning(
                "No episode has ended for %g s: %d of %d are finished, %d are running, and the longest has %d steps so "
                "far. If your environment has no time limit, episodes may never end: give it one, for example with "
                "gymnasium.wrappers.TimeLimit(env, 1000). ascpo train and evaluate also take --max-episode-steps.",
                *(EXPLAIN_AFTER, score.finished, wanted, running, longest),
            )


class _Score:
    """Accumulates running episodes, and collects the finished ones."""

    def __init__(
        self,
        episodes: int,
        num_envs: int,
        actions: int,
        limits: Float[np.ndarray, " m"],
        limits_on: LimitKind,
        keep: int,
    ) -> None:
        m = len(limits)
        self._wanted, self._limits, self._keep = episodes, limits, keep
        self._limits_on: LimitKind = limits_on
        self._envs = np.arange(num_envs)
        self._playlist = Playlist(num_envs)
        self._running, self._rows = _blank(num_envs, m), _blank(episodes, m)
        self._actions = np.zeros((num_envs, 256, actions if keep else 0), np.float32)
        self._worst: list[tuple[tuple[float, ...], int, np.ndarray]] = []
        self.finished = 0

    def add(self, rollout: Rollout) -> None:
        taken = rollout.action if rollout.taken is None else rollout.taken
        changed = moved_by(rollout.action, taken) > CHANGED
        for t in range(len(rollout.reward)):
            self._step(rollout, t, np.asarray(taken[t]), np.asarray(changed[t]))
            if rollout.done[t].any():
                self._finish(np.flatnonzero(rollout.done[t]))

    @property
    def running(self) -> tuple[int, int]:
        """The number of running episodes of the list, and the steps of the longest."""
        counting = self._playlist.current < self._wanted
        return int(counting.sum()), int(self._running.length[counting].max(initial=0))

    def played(self, broken: list[int]) -> Played:
        """The results. The last step of `broken` rows, whose simulations broke down, counts as a violation."""
        first, end = self._rows.first_violation, self._rows.length[:, None] - 1
        first[broken] = np.where(first < 0, end, first)[broken]
        worst = sorted(self._worst, key=lambda item: item[0], reverse=True)
        return Played(self._rows, tuple(KeptEpisode(row, actions) for _, row, actions in worst))

    def _step(self, rollout: Rollout, t: int, taken: Float[np.ndarray, "env act"], changed: np.ndarray) -> None:
        now, cost = self._running, np.asarray(rollout.cost[t], float)
        over = over_limit(cost if self._limits_on == "state" else now.cost + cost, self._limits)
        if self._keep:
            if now.length.max() == self._actions.shape[1]:
                self._actions = np.concatenate([self._actions, np.zeros_like(self._actions)], axis=1)
            self._actions[self._envs, now.length] = taken
        now.first_violation[:] = np.where(over & (now.first_violation < 0), now.length[:, None], now.first_violation)
        now.violating[:] += over
        now.reward[:] += rollout.reward[t]
        now.cost[:] += cost
        now.maximum[:] = np.maximum(now.maximum, cost)
        now.interventions[:] += changed
        now.time_limited[:] = rollout.truncated[t]
        now.length[:] += 1

    def _finish(self, envs: Int[np.ndarray, " n"]) -> None:
        """Copy the finished episodes, and reset their sums."""
        if self._limits_on == "episode":
            # With negative costs, a sum may have been over its limit for a while, and be within it at the end.
            self._running.first_violation[envs] = np.where(
                over_limit(self._running.cost[envs], self._limits), self._running.first_violation[envs], -1
            )
        rows = self._playlist.current[envs]
        counting, rows = envs[rows < self._wanted], rows[rows < self._wanted]
        for env, row in zip(counting, rows, strict=True) if self._keep else ():
            self._consider(int(env), int(row))
        for name, blank in vars(_blank(1, len(self._limits))).items():
            running = getattr(self._running, name)
            getattr(self._rows, name)[rows] = running[counting]
            running[envs] = blank
        self._playlist.end(envs)
        self.finished += len(rows)

    def _consider(self, env: int, row: int) -> None:
        """Keep the episode if it is one of the worst: by excess over a limit, then by cost, then by return."""
        now = self._running
        excess = float(np.max(now.limited(self._limits_on)[env] - self._limits))
        badness = (excess, float(now.cost[env].sum()), -float(now.reward[env]))
        item = (badness, row, self._actions[env, : now.length[env]].copy())
        # Rows are unique, so arrays are never compared.
        add = heapq.heappush if len(self._worst) < self._keep else heapq.heappushpop
        add(self._worst, item)


def _blank(n: int, m: int) -> Episodes:
    """Episodes before their first step."""
    return Episodes(
        reward=np.zeros(n),
        cost=np.zeros((n, m)),
        maximum=np.zeros((n, m)),
        length=np.zeros(n, int),
        time_limited=np.zeros(n, bool),
        first_violation=np.full((n, m), -1),
        violating=np.zeros((n, m), int),
        interventions=np.zeros(n, int),
    )
