"""Measure the effect of a cost step: the decrease of the violation probability by a step along one batch's gradient.

python -m benchmarks.gradients collect runs/Point-8-Hazard-ascpo-seed0 --out batches --batches 40 --seed 1
python -m benchmarks.gradients collect runs/Point-8-Hazard-ascpo-seed0 --out batches --batches 40 --seed 2
python -m benchmarks.gradients measure batches

`collect` plays batches of 30 × 1000 steps with a fixed policy of a suite. `measure` computes from each batch the
natural gradient for several cost signals and several λ, and takes a step of divergence δ along it. The decrease of the
violation probability is estimated from the batches of the other seed: by their mean gradient, which is independent of
the noise in the step. Each seed's critics are also fitted to the other seed's steps.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from ascpo.experience import scans
from ascpo.runs.directory import find
from ascpo.runs.environment import open_engine
from ascpo.runs.trained_policy import read_policy
from ascpo.theory.chernoff import chernoff_weight
from ascpo.training.agent import Agent, agent_for
from ascpo.training.loop import TrainingRun, start
from ascpo.trust_region import conjugate_gradient

ENVS, STEPS, DELTA, DAMPING, ITERATIONS = 30, 1000, 0.02, 0.01, 20
FARTHEST = 0.5
"""Where a running maximum of signed costs starts, in metres before the limit."""
Numbers = np.ndarray[Any, Any]
Signal = Callable[[Numbers], Numbers]


def crossing(h: float) -> Signal:
    return lambda m: (m > -h).astype(np.float32)


def chernoff(tau: float, cap: float) -> Signal:
    return lambda m: chernoff_weight(m, 0.0, tau=tau, cap=cap, h=0.3).astype(np.float32)


SIGNALS: dict[str, tuple[Signal, tuple[float, ...]]] = {
    "crossing of the limit": (crossing(0.0), (0.5, 0.8, 0.9, 0.95, 0.98, 1.0)),
    "crossing, 0.05 m before": (crossing(0.05), (0.8, 0.95)),
    "crossing, 0.1 m before": (crossing(0.1), (0.5, 0.8, 0.9, 0.95, 0.98)),
    "crossing, 0.2 m before": (crossing(0.2), (0.8, 0.95)),
    "Chernoff, τ 0.05, cap 2": (chernoff(0.05, 2.0), (0.5, 0.8, 0.9, 0.95, 0.98)),
    "Chernoff, τ 0.1, cap 1": (chernoff(0.1, 1.0), (0.5, 0.8, 0.9, 0.95, 0.98)),
}
"""What a step adds to an episode's sum: the increments of a function of the largest signed cost so far."""
TRUTHS = (("crossing of the limit", 1.0), ("crossing of the limit", 0.95))
"""The gradients that estimate the decrease of v: one without bias, and one with less noise."""


def _agent(run: Path) -> tuple[Any, Agent, Array]:
    policy, config = read_policy(run), find(run).config()
    engine = open_engine(config.env, ENVS, threads=1)
    return engine, agent_for(engine, config.algorithm(), replace(config.settings, num_envs=ENVS)), policy.theta


def collect(args: argparse.Namespace) -> None:
    engine, agent, theta = _agent(args.run)
    agent = replace(agent, settings=replace(agent.settings, horizon=STEPS))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "run").write_text(str(args.run.resolve()))
    state = start(engine, [TrainingRun(agent, args.seed)], 1)[0].learner
    for i in range(args.batches):
        state, noise = agent.noise(state)
        (rollout,) = engine.collect([theta[None]], [np.asarray(noise)[None]])
        file = args.out / f"{args.seed}-{i:03}.npz"
        ends = np.asarray(rollout.terminated[0] | rollout.truncated[0])
        arrays = (rollout.observation[0], rollout.action[0], rollout.signed_cost[0, ..., 0])
        observation, action, signed_cost = map(np.asarray, arrays)
        np.savez(file, done=ends, observation=observation, action=action, signed_cost=signed_cost)
        print(f"\r{i + 1} of {args.batches}", end="", flush=True)
    engine.close()


class Stream(NamedTuple):
    """The steps of one seed, one batch after the other."""

    observation: Numbers
    action: Numbers
    done: Numbers
    before: Numbers
    """Largest signed cost of the episode before each step."""
    after: Numbers

    def inputs(self) -> Numbers:
        return np.concatenate([self.observation, np.clip(self.before, -FARTHEST, 0.3)[..., None] * 4.0], axis=-1)


def _stream(out: Path, seed: int) -> Stream:
    parts = [np.load(file) for file in sorted(out.glob(f"{seed}-*.npz"))]
    names = ("observation", "action", "done", "signed_cost")
    observation, action, done, cost = (np.concatenate([part[name] for part in parts]) for name in names)
    before, after = np.empty_like(cost), np.empty_like(cost)
    largest = np.full(ENVS, -FARTHEST, np.float32)
    for t, now in enumerate(cost):
        before[t], after[t] = largest, np.maximum(largest, now)
        largest = np.where(done[t], -FARTHEST, after[t])
    return Stream(observation, action, done, before, after)


def backwards(x: Numbers, done: Numbers, factor: float) -> Numbers:
    """xₜ + factor·xₜ₊₁ + … to the end of the episode."""
    return np.asarray(scans.backwards(jnp.asarray(x), jnp.zeros_like(x), jnp.asarray(done), factor))


def fit(x: Numbers, y: Numbers, iterations: int, width: int = 128) -> Callable[[Numbers], Numbers]:
    """A critic of numbers from 0 to their largest one, by cross-entropy."""
    x, y, top = x.reshape(-1, x.shape[-1]), y.reshape(-1), max(1.0, float(y.max()))
    network = eqx.nn.MLP(x.shape[-1], 1, width, 2, activation=jnp.tanh, key=jax.random.key(0))
    adam = optax.adam(optax.cosine_decay_schedule(1e-3, iterations))
    state = adam.init(eqx.filter(network, eqx.is_array))

    @eqx.filter_jit
    def step(network: Any, state: Any, some: Array, target: Array) -> tuple[Any, Any]:
        def loss(network: Any) -> Array:
            return jnp.mean(optax.sigmoid_binary_cross_entropy(jax.vmap(network)(some)[:, 0], target / top))

        change, state = adam.update(eqx.filter_grad(loss)(network), state)
        return eqx.apply_updates(network, change), state

    rng = np.random.default_rng(0)
    for _ in range(iterations):
        drawn = rng.integers(0, len(x), 2048)
        network, state = step(network, state, jnp.asarray(x[drawn]), jnp.asarray(y[drawn]))
    predict = eqx.filter_jit(lambda network, x: top * jax.nn.sigmoid(jax.vmap(network)(x)[:, 0]))
    return lambda x: np.concatenate([predict(network, row) for row in x]).reshape(x.shape[:-1])


def _advantages(own: Stream, other: Stream, iterations: int) -> Iterator[tuple[str, float, Numbers]]:
    for name, (signal, lambdas) in SIGNALS.items():
        teaching = backwards(signal(other.after) - signal(other.before), other.done, 1.0)
        added = signal(own.after) - signal(own.before)
        value = fit(other.inputs(), teaching, iterations)(own.inputs())
        left = backwards(added, own.done, 1.0)
        print(f"{name}: the critic explains {1.0 - np.var(left - value) / np.var(left):.2f}", flush=True)
        follows = np.where(own.done, 0.0, np.concatenate([value[1:], np.zeros((1, ENVS), np.float32)]))
        for lam in lambdas:
            yield name, lam, backwards(added + follows - value, own.done, lam)


@partial(jax.jit, static_argnums=0)
def _gradients(
    agent: Agent, params: Array, observation: Array, action: Array, advantages: Float[Array, "k time env"]
) -> Array:
    _, pull = jax.vjp(lambda params: agent.policy(params)(observation).log_prob(action), params)
    return jax.vmap(lambda a: pull(a)[0])(advantages)


@partial(jax.jit, static_argnums=0)
def _solve(agent: Agent, theta: Array, some: Array, rows: Array) -> Array:
    def outputs(theta: Array) -> Any:
        return agent.policy(theta)(some)

    def product(v: Array) -> Array:
        at, tangent = jax.jvp(outputs, (theta,), (v,))
        return jax.vjp(outputs, theta)[1](at.metric(tangent))[0] + DAMPING * v

    return conjugate_gradient.solve(product, rows, iterations=ITERATIONS).x


def measure(args: argparse.Namespace) -> None:
    engine, agent, theta = _agent(Path((args.out / "run").read_text()))
    engine.close()
    theta, units, _ = agent.actor.parts(theta)
    streams = {seed: _stream(args.out, seed) for seed in (1, 2)}
    streams = {
        seed: each._replace(observation=np.asarray(agent.actor.network_input(units, jnp.asarray(each.observation))))
        for seed, each in streams.items()
    }
    gradients: dict[int, dict[tuple[str, float], Numbers]] = {}
    for seed, own in streams.items():
        ended = own.done.sum()
        print(f"seed {seed}: {ended} episodes, {100 * np.mean(own.after[own.done] > 0.0):.2f} % violate", flush=True)
        found = {(name, lam): a for name, lam, a in _advantages(own, streams[3 - seed], args.iterations)}
        rows = []
        for at in range(0, len(own.done), STEPS):
            part = slice(at, at + STEPS)
            centred = jnp.stack([a[part] - a[part].mean() for a in found.values()])
            rows.append(_gradients(agent, theta, own.observation[part], own.action[part], centred))
        scaled = np.asarray(jnp.stack(rows)) / (ended * STEPS / len(own.done))
        gradients[seed] = {key: scaled[:, i] for i, key in enumerate(found)}
    some = jnp.asarray(streams[1].observation[:: len(streams[1].done) // 200][:200])
    titles = ("signal", "λ", *(f"fall of v, by λ = {lam:g}" for _, lam in TRUTHS), "promised")
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for key in gradients[1]:
        falls, promised = _falls(agent, theta, some, key, gradients)
        cells = [f"{100 * fall.mean():.2f} ± {100 * fall.std() / len(fall) ** 0.5:.2f}" for fall in falls]
        print(f"| {key[0]} | {key[1]:g} | " + " | ".join(cells) + f" | {100 * promised.mean():.1f} |", flush=True)


def _falls(
    agent: Agent, theta: Array, some: Array, key: tuple[str, float], gradients: dict[int, dict[Any, Numbers]]
) -> tuple[list[Numbers], Numbers]:
    """By how much v falls in a step along each batch's gradient, by each of the truths; and what it promises."""
    falls: list[list[Numbers]] = [[] for _ in TRUTHS]
    promised = []
    for seed, own in gradients.items():
        x = np.asarray(_solve(agent, theta, some, jnp.asarray(own[key])))
        length = np.sqrt(np.sum(own[key] * x, axis=1))
        for fall, truth in zip(falls, TRUTHS, strict=True):
            fall.append(np.sqrt(2 * DELTA) * (x @ gradients[3 - seed][truth].mean(axis=0)) / length)
        promised.append(np.sqrt(2 * DELTA) * length)
    return [np.concatenate(fall) for fall in falls], np.concatenate(promised)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    collecting, measuring = verbs.add_parser("collect"), verbs.add_parser("measure")
    collecting.add_argument("run", type=Path)
    collecting.add_argument("--out", type=Path, required=True)
    collecting.add_argument("--batches", type=int, default=40)
    collecting.add_argument("--seed", type=int, choices=(1, 2), default=1)
    measuring.add_argument("out", type=Path)
    measuring.add_argument("--iterations", type=int, default=1500)
    args = parser.parse_args()
    {"collect": collect, "measure": measure}[args.verb](args)


if __name__ == "__main__":
    main()
