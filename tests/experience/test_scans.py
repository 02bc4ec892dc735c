"""Sequential and parallel recurrences against a plain loop."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from ascpo.experience.scans import (
    accumulate,
    accumulate_at_once,
    accumulate_in_turn,
    backwards,
    backwards_at_once,
    backwards_in_turn,
)

STEPS, ENVS = 11, 3
X = hnp.arrays(np.float32, (STEPS, ENVS), elements=st.floats(-1, 1, width=32, allow_subnormal=False))
START = hnp.arrays(np.float32, (ENVS,), elements=st.floats(0, 1, width=32, allow_subnormal=False))
ENDS = hnp.arrays(bool, (STEPS, ENVS))
NEVER, ALWAYS = np.zeros((STEPS, ENVS), bool), np.ones((STEPS, ENVS), bool)
FIRST, LAST = NEVER.copy(), NEVER.copy()
FIRST[0], LAST[-1] = True, True
NUMBERS = np.linspace(-1, 1, STEPS * ENVS, dtype=np.float32).reshape(STEPS, ENVS)
WAYS = ("in turn", "at once")
ACCUMULATE = pytest.mark.parametrize(
    "by", [jax.jit(accumulate_in_turn, static_argnums=0), accumulate_at_once], ids=WAYS
)
BACKWARDS = pytest.mark.parametrize("by", [jax.jit(backwards_in_turn, static_argnums=3), backwards_at_once], ids=WAYS)
thorough = settings(deadline=None, derandomize=True, max_examples=40)


def on_the_edges(*before):
    """Episodes that end with the first step, the last one, each or none."""

    def told(test):
        for ends in (FIRST, LAST, ALWAYS, NEVER):
            test = example(*before, ends)(test)
        return test

    return told


def looped(join, x, ends, start):
    """What has accumulated after every step."""
    y, after = start.copy(), []
    for now, ended in zip(x, ends, strict=True):
        y = join(y, now)
        after.append(y)
        y = np.where(ended.reshape(ended.shape + (1,) * (y.ndim - 1)), np.zeros_like(y), y)
    return np.stack(after)


def looped_back(x, follows, ends, factor):
    y, out = follows[-1].astype(float), []
    for t in reversed(range(len(x))):
        y = x[t] + factor * np.where(ends[t], follows[t], y)
        out.append(y)
    return np.stack(out[::-1])


@ACCUMULATE
@thorough
@on_the_edges(NUMBERS, NUMBERS[3])
@given(X, START, ENDS)
def test_sums_are_those_of_a_plain_loop(by, x, start, ends):
    after = by(jnp.add, jnp.asarray(x), jnp.asarray(ends), jnp.asarray(start))
    assert_allclose(after, looped(np.add, x, ends, start), atol=1e-5)


@ACCUMULATE
@thorough
@on_the_edges(NUMBERS, NUMBERS[3])
@given(X, START, ENDS)
def test_maxima_are_exactly_those_of_a_plain_loop(by, x, start, ends):
    """Those after an end begin at zero, also where all that comes is below."""
    after = by(jnp.maximum, jnp.asarray(x), jnp.asarray(ends), jnp.asarray(start))
    assert_array_equal(after, looped(np.maximum, x, ends, start))


@ACCUMULATE
@thorough
@on_the_edges()
@given(ENDS)
def test_lengths_are_exactly_those_of_a_plain_loop(by, ends):
    one, start = np.ones((STEPS, ENVS), np.int32), np.arange(ENVS, dtype=np.int32)
    after = by(jnp.add, jnp.asarray(one), jnp.asarray(ends), jnp.asarray(start))
    assert after.dtype == jnp.int32
    assert_array_equal(after, looped(np.add, one, ends, start))


@ACCUMULATE
def test_trees_accumulate_each_part_in_its_own_way(by):
    wide = np.stack([NUMBERS, -NUMBERS], -1)
    start = {"sum": NUMBERS[0], "most": wide[0]}
    ends = NUMBERS**2 < 0.1
    after = by(
        lambda a, b: {"sum": a["sum"] + b["sum"], "most": jnp.maximum(a["most"], b["most"])},
        jax.tree.map(jnp.asarray, {"sum": NUMBERS, "most": wide}),
        jnp.asarray(ends),
        jax.tree.map(jnp.asarray, start),
    )
    assert_allclose(after["sum"], looped(np.add, NUMBERS, ends, start["sum"]), atol=1e-5)
    assert_array_equal(after["most"], looped(np.maximum, wide, ends, start["most"]))


@BACKWARDS
@pytest.mark.parametrize("factor", [0.0, 0.9, 1.0])
@thorough
@on_the_edges(NUMBERS, NUMBERS[::-1])
@given(X, X, ENDS)
def test_sums_from_the_end_are_those_of_a_plain_loop(by, factor, x, follows, ends):
    y = by(jnp.asarray(x), jnp.asarray(follows), jnp.asarray(ends), factor)
    assert_allclose(y, looped_back(x, follows, ends, factor), atol=1e-5)


@BACKWARDS
def test_an_infinite_episode_spoils_no_other(by):
    x = jnp.asarray(NUMBERS).at[5].set(jnp.inf)
    ends = jnp.zeros((STEPS, ENVS), bool).at[jnp.array([3, 7])].set(True)
    y = np.asarray(by(x, jnp.zeros_like(x), ends, 0.5))
    assert np.isinf(y[4:6]).all()
    assert np.isfinite(y[:4]).all()
    assert np.isfinite(y[6:]).all()


@BACKWARDS
def test_several_signals_accumulate_as_each_alone(by):
    x, ends = jnp.asarray(NUMBERS), jnp.asarray(NUMBERS**2 < 0.1)
    both = jax.vmap(lambda *of: by(*of, 0.9), in_axes=(-1, -1, None), out_axes=-1)
    y = both(jnp.stack([x, -x], -1), jnp.stack([-x, x], -1), ends)
    assert_allclose(y[..., 0], by(x, -x, ends, 0.9), atol=1e-6)
    assert_allclose(y[..., 1], by(-x, x, ends, 0.9), atol=1e-6)


def test_the_total_before_a_step_is_that_after_the_last_one():
    x, ends = jnp.ones((4, 1)), jnp.array([False, True, False, False])[:, None]
    before, after, rest = accumulate(jnp.add, x, ends, jnp.array([5.0]))
    assert_array_equal(before[:, 0], [5, 6, 0, 1])
    assert_array_equal(after[:, 0], [6, 7, 1, 2])
    assert_array_equal(rest, [2])
    assert_array_equal(accumulate(jnp.add, x, ends.at[-1].set(True), jnp.array([5.0]))[2], [0])


def test_a_rollout_of_one_step_is_enough():
    one, ends = jnp.ones((1, 2)), jnp.array([[True, False]])
    assert_array_equal(accumulate_at_once(jnp.add, one, ends, jnp.ones(2)), [[2, 2]])
    assert_array_equal(backwards_at_once(one, 2 * one, ends, 0.5), [[2, 2]])


def programs():
    x, ends = jnp.asarray(NUMBERS), jnp.asarray(ALWAYS)
    over_signals = jax.vmap(partial(backwards, factor=0.9), in_axes=(-1, -1, None), out_axes=-1)
    return [
        (partial(accumulate, jnp.add), (x, ends, x[0])),
        (partial(backwards, factor=0.9), (x, x, ends)),
        (over_signals, (x[..., None], x[..., None], ends)),
    ]


@pytest.mark.parametrize("program", range(3))
def test_a_cpu_scans_sequentially_and_an_accelerator_in_parallel(program):
    function, arguments = programs()[program]
    trace = jax.jit(function).trace(*arguments)
    in_turn = trace.lower(lowering_platforms=("cpu",)).as_text()
    at_once = trace.lower(lowering_platforms=("cuda",)).as_text()
    assert "stablehlo.while" in in_turn
    assert "stablehlo.while" not in at_once
    # Of the two ways a program holds one: only the rounds put steps between others.
    assert "stablehlo.pad" in at_once
    assert "stablehlo.pad" not in in_turn


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="sums at once are rounded in another order")
def test_on_a_cpu_results_equal_the_sequential_scan_bit_for_bit():
    x, ends = jnp.asarray(NUMBERS), jnp.asarray(NUMBERS**2 < 0.1)
    assert_array_equal(jax.jit(partial(backwards, factor=0.9))(x, x, ends), backwards_in_turn(x, x, ends, 0.9))
    assert_array_equal(accumulate(jnp.add, x, ends, x[0])[1], accumulate_in_turn(jnp.add, x, ends, x[0]))
