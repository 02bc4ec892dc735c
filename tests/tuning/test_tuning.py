"""Searches: the search space, the score of a trial, and that a killed search continues."""

import importlib.util
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ascpo.runs.config import configure
from ascpo.runs.sealed import write_sealed
from ascpo.runs.serialization import BadSetting
from ascpo.sweep.executors import InProcess
from ascpo.tuning.loop import tune
from ascpo.tuning.report import front, verdict, write_report
from ascpo.tuning.scoring import is_hopeless, return_bounds, score
from ascpo.tuning.space import Axis, axes_of
from ascpo.tuning.study import EVALUATION_SEED, FIRST_SEED, Search, Setup

needs_optuna = pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="optuna is not installed")


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("trust_region.delta=0.005..0.05:log", Axis("trust_region.delta", 0.005, 0.05, log=True)),
        ("cost-fit.window=5..20", Axis("cost_fit.window", 5, 20, whole=True)),
        ("initial_log_std=-1.5..0", Axis("initial_log_std", -1.5, 0)),
        ("carry=True,False", Axis("carry", values=(True, False))),
        ("mode=fast,paper", Axis("mode", values=("fast", "paper"))),
    ],
)
def test_a_setting_has_a_range_or_values(text, axis):
    assert axes_of([text]) == [axis]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ([], "Nothing to search"),
        (["delta"], "has no values to search"),
        (["delta=3"], "at least two values"),
        (["delta=2..1"], "the first number must be the smaller one"),
        (["delta=0..1:log"], "and positive"),
        (["delta=1..2", "delta=1..3"], "searched twice"),
    ],
)
def test_impossible_search_spaces_are_refused_with_a_message(typed, answer):
    with pytest.raises(BadSetting, match=answer):
        axes_of(typed)


@pytest.fixture
def setup(tmp_path):
    base = configure("Point-1-Hazard", "trpo", total_steps=10 * 30_000)
    return Setup(base, {}, tuple(axes_of(["trust_region.delta=0.01..0.04"])), tmp_path, probability=0.9, seeds=2)


def write(batch, returns, mean=0.0, safe=1.0, episodes=100):
    """The files of a trial's runs: a return for every epoch, and the figures of its held-out episodes."""
    for one in batch:
        one.directory.mkdir(parents=True, exist_ok=True)
        one.run.config_file.write_text(json.dumps(one.config.plain()))
        rows = "".join(f"{epoch},{value}\n" for epoch, value in enumerate(returns))
        one.run.metrics.write_text("Epoch,EpRet\n" + rows)
        figures = {"Episodes": episodes, "EpRet": mean, "SafeRate": safe}
        write_sealed(one.directory / "evaluation.json", "evaluation", {"sampled": figures, "seed": EVALUATION_SEED})


def test_trials_use_seeds_that_are_reserved_for_the_search(setup):
    batch = setup.batch(3, {"trust_region.delta": 0.03})
    assert [one.config.seed for one in batch] == [FIRST_SEED, FIRST_SEED + 1]
    assert {one.evaluation.seed for one in batch} == {EVALUATION_SEED}
    assert {one.config.settings.trust_region.delta for one in batch} == {0.03}
    assert [one.name for one in batch] == ["trial0003-seed0", "trial0003-seed1"]


def test_a_trial_counts_the_certificate_of_its_worst_seed(setup):
    batch = setup.batch(0, {})
    write(batch[:1], [0.0], mean=2.0, safe=1.0, episodes=100)
    write(batch[1:], [0.0], mean=5.0, safe=0.98, episodes=200)
    found = score(batch, 0.95)
    assert (found.mean_return, found.violations, found.episodes) == (4.0, 4, 300)
    assert found.certified == pytest.approx(0.9548, abs=1e-4)  # Clopper and Pearson, 4 of 200; 0 of 100 has 0.9705


def test_too_few_episodes_to_certify_the_probability_are_refused_before_training(setup):
    with pytest.raises(BadSetting, match=r"200 episodes of a policy cannot certify .* 0\.99 .* Use --episodes 299"):
        replace(setup, probability=0.99)


def test_the_bounds_of_a_return_are_those_of_a_mean(setup):
    batch = setup.batch(0, {})
    write(batch, [9.0, 1.0, 3.0, 1.0, 3.0, 2.0])
    low, high = return_bounds(batch, 6)  # ten values around 2, with a variance of 8/9
    assert (low + high) / 2 == pytest.approx(2.0)
    assert high - low == pytest.approx(2 * 1.645 * (8 / 9 / 10) ** 0.5)
    assert return_bounds(batch, 7) is None


def test_a_trial_is_pruned_if_it_is_surely_worse_and_only_then(setup):
    best, bad, close = (setup.batch(number, {}) for number in range(3))
    write(best, [1.0, 1.1] * 5)
    write(bad, [0.1, 0.2] * 3)
    write(close, [1.0, 1.05] * 3)
    assert is_hopeless(bad, [best], patience=0.5)
    assert not is_hopeless(close, [best], patience=0.5)
    assert not is_hopeless(bad, [best], patience=0.7)
    assert not is_hopeless(bad, [], patience=0.5)


def trial(number, value, certified):
    return SimpleNamespace(number=number, value=value, user_attrs={"certified": certified})


def test_the_front_has_the_trials_that_no_other_one_dominates():
    trials = [trial(0, 1.0, 0.9), trial(1, 2.0, 0.8), trial(2, 0.5, 0.85), trial(3, 0.9, 0.95)]
    assert [one.number for one in front(trials)] == [1, 0, 3]


def train(batch):
    """The return grows with delta, and so do violations."""
    delta = batch[0].config.settings.trust_region.delta
    if delta > 0.038:
        raise RuntimeError("Epoch 7 made numbers that are not finite.")
    write(batch, [delta] * 10, mean=100 * delta, safe=1.0 if delta < 0.03 else 0.5)


@needs_optuna
def test_a_search_finds_the_best_safe_return_and_continues_after_a_kill(setup):
    said = []
    tune(Search(setup), InProcess(train), trials=6, side_by_side=1, say=said.append)

    def killed(batch):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(Search(setup), InProcess(killed), trials=12, side_by_side=1, say=said.append)
    search = Search(setup)
    assert list(search.unfinished()) == [6]
    tune(search, InProcess(train), trials=20, side_by_side=1, say=said.append)
    assert [one.number for one in search.study.trials] == list(range(20))
    best, usual = search.feasible()[0], search.complete()[0]
    assert usual.params == {"trust_region.delta": 0.02}
    assert 0.025 < best.params["trust_region.delta"] < 0.03
    assert best.value < max(one.value for one in search.complete())
    assert verdict(search).endswith("The defaults have 2.00 and certify 0.9.")
    text = write_report(search)
    assert "| 0 | 2 | 0.9705 | 0 of 200 | 0.02 |" in text
    for name in ("tuning.md", "tuning-front.png", "tuning-importance.png"):
        assert (setup.out / name).stat().st_size > 100


@needs_optuna
def test_a_search_that_was_killed_while_it_refused_a_trial_continues(setup, monkeypatch):
    search = Search(replace(setup, axes=tuple(axes_of(["gae_lambda=1.2..1.5"]))))
    monkeypatch.setattr(Search, "fail", lambda *_: None)
    with pytest.raises(BadSetting, match="gae_lambda"):
        search.ask()
    monkeypatch.undo()
    assert search.unfinished() == {}
    assert search.ended() == 1


class OneByOne(InProcess):
    """Has room for a batch once the end of the one before was noticed."""

    def __init__(self, run):
        super().__init__(run)
        self.submitted = []

    def has_room(self, job):
        return not self._ended

    def submit(self, batches):
        assert self.has_room(batches[0][0])
        self.submitted += [(batch[0].name, batch[0].evaluation is not None) for batch in batches]
        return super().submit(batches)


@needs_optuna
def test_a_trial_on_a_gpu_trains_there_and_its_episodes_are_played_on_the_host(setup):
    def train_or_play(batch):
        write(batch, [1.0] * 10, mean=1.0)
        for one in batch:
            if one.evaluation is None:
                (one.directory / "evaluation.json").unlink()

    search = Search(replace(setup, base=replace(setup.base, engine="mjx-jax")))
    executor = OneByOne(train_or_play)
    tune(search, executor, trials=3, side_by_side=2, say=lambda text: None)
    assert [one.value for one in search.complete()] == [1.0] * 3
    names = [f"trial{number:04d}-seed0" for number in range(3)]
    assert sorted(executor.submitted) == [(name, played) for name in names for played in (False, True)]


@needs_optuna
def test_a_search_continues_only_with_its_initial_settings(setup):
    Search(setup)
    with pytest.raises(BadSetting, match="holds a search with another probability"):
        Search(replace(setup, probability=0.8))
