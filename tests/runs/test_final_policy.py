"""The final policy of a training: the last one, the mean of the last ones, or the best on validation scenes."""

import logging
import shutil
import signal
from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from numpy.testing import assert_array_equal

import ascpo
from ascpo.evaluation.bound import lower_bound
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.report.data import read_run
from ascpo.report.document import write_report
from ascpo.runs import selection
from ascpo.runs.candidates import Candidate, candidates_of
from ascpo.runs.config import Config, configure, configure_each
from ascpo.runs.directory import NoRun, find
from ascpo.runs.errors import MENDABLE
from ascpo.runs.sealed import read_arrays, read_sealed, sealed_arrays, write_sealed
from ascpo.runs.selection import Outcome, best_of
from ascpo.runs.serialization import BadSetting
from ascpo.runs.source import Source, source_of
from ascpo.runs.stopping import Stopped
from ascpo.runs.tables import read_table
from ascpo.runs.trained_policy import read_policy
from ascpo.seeding import Purpose, seed_of
from ascpo.training.state import TrainingState
from tests.runs.helpers import CART, EPOCH, TINY
from tests.slow import slow
from tests.training.made import agent_of

QUIET = TINY | {"progress": False, "checkpoint_every": 0.0, "average_epochs": 20, "final_policy": "last"}
SELECTED = {"final_policy": "selected", "validation_episodes": 6}
POLICIES = ("policy.safetensors", "policy-last.safetensors", "policy-average.safetensors")


def train(out, epochs=3, **more):
    return ascpo.train(CART, out=out, total_steps=epochs * EPOCH, **(QUIET | more)).directory


def theta(file):
    return np.asarray(read_policy(file).theta)


def contents(run, *names):
    return [(run / name).read_bytes() for name in names]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of three epochs whose final policy is the last one."""
    return train(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def run(whole, tmp_path):
    """A copy of it."""
    return shutil.copytree(whole, tmp_path / whole.name)


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """The same run, made longer twice. Returns it, and its last policy after each epoch."""
    run = train(tmp_path_factory.mktemp("grown"), epochs=1)
    thetas = [theta(run)]
    for epochs in (2, 3):
        ascpo.resume(run, total_steps=epochs * EPOCH, progress=False)
        thetas.append(theta(run))
    return run, thetas


def test_the_average_is_the_mean_of_the_policies_after_each_epoch(whole, grown):
    _, thetas = grown
    mean = np.mean(thetas, axis=0, dtype=np.float64).astype(np.float32)
    assert_array_equal(theta(whole / "policy-average.safetensors"), mean)
    assert not np.array_equal(mean, thetas[-1])
    assert_array_equal(theta(whole / "policy-last.safetensors"), thetas[-1])


def test_a_run_that_was_stopped_twice_leaves_the_same_policies_byte_for_byte(whole, grown):
    assert contents(grown[0], *POLICIES) == contents(whole, *POLICIES)


def test_every_file_says_which_policy_it_holds(whole):
    found = {name: read_policy(whole / name).source for name in POLICIES}
    last, average = Source("last", 3, 3), Source("average", 1, 3)
    assert found == dict(zip(POLICIES, (last, last, average), strict=True))
    assert last.description == "the policy after 3 epochs, the last one"
    assert average.description == "the mean of the policies after 1 to 3 epochs"
    assert average.selected().description == f"{average.description}, selected on validation scenes"
    assert str(ascpo.load(whole)) == f"TrainedPolicy(ascpo on {CART}, 3 epochs)"
    assert str(ascpo.load(whole / POLICIES[2])).endswith("3 epochs, the mean of the policies after 1 to 3 epochs)")


def test_a_file_of_an_earlier_version_holds_the_last_policy():
    assert source_of({"epochs": 7}) == Source("last", 7, 7)


@pytest.mark.parametrize(
    "odd",
    [{"kind": "best"}, {"mean_of": [0, 3]}, {"mean_of": [2, 4]}, {"mean_of": [3, 2]}, {"mean_of": [1.0, 3]},
     {"mean_of": [2, 2]}, {"mean_of": 3}],
)  # fmt: skip
def test_a_file_with_impossible_metadata_is_refused(run, odd):
    found = read_arrays(run / "policy.safetensors")
    (run / "policy.safetensors").write_bytes(sealed_arrays(found.about | odd, found.arrays))
    with pytest.raises(MENDABLE, match=r"policy.safetensors is damaged, or this program did not write it"):
        read_policy(run)


def test_a_finished_run_may_take_another_final_policy_and_is_the_same_run(run):
    """The digest, and so the scenes of a certificate, are those of the parameters, whatever the file is called."""
    before, fingerprint = contents(run, "metrics.csv"), find(run).config().fingerprint
    ascpo.resume(run, final_policy="average", progress=False)
    assert read_policy(run).source == Source("average", 1, 3)
    assert read_policy(run).digest == read_policy(run / "policy-average.safetensors").digest
    assert (contents(run, "metrics.csv"), find(run).config().fingerprint) == (before, fingerprint)
    ascpo.resume(run, progress=False)
    assert read_policy(run).source.kind == "average", "a run remembers its final policy"
    ascpo.resume(run, final_policy="last", progress=False)
    assert read_policy(run).source.kind == "last"


def test_runs_from_before_the_setting_was_renamed_are_read_and_continued(run):
    """It was called hand_out, and the files of runs, of policies and of the zoo still say so."""
    ascpo.resume(run, final_policy="average", progress=False)
    digest, file = read_policy(run).digest, find(run).config_file
    stored = read_sealed(file, "config")
    plain = {{"final_policy": "hand_out"}.get(name, name): value for name, value in stored.content.items()}
    assert plain["hand_out"] == "average"
    write_sealed(file, "config", plain, stored.run)
    for name in POLICIES:
        found = read_arrays(run / name)
        (run / name).write_bytes(sealed_arrays(found.about | {"config": plain}, found.arrays))
    assert find(run).config().final_policy == "average"
    assert read_policy(run).digest == digest
    assert ascpo.resume(run, progress=False).directory == run
    assert read_policy(run).source.kind == "average"
    with pytest.raises(BadSetting, match="It is now called final_policy"):
        configure(CART, **TINY, hand_out="last")


def test_a_file_with_the_mean_is_refused_if_the_run_keeps_the_last_policy(run):
    shutil.copyfile(run / POLICIES[2], run / POLICIES[0])
    sentence = "holds the mean of the policies after 1 to 3 epochs, but its run has final_policy=.last."
    with pytest.raises(NoRun, match=sentence):
        read_policy(run)
    assert read_policy(run / POLICIES[0]).source.kind == "average", "the file itself is what it says"


def test_the_digest_of_a_policy_does_not_depend_on_which_one_is_final(whole, run):
    ascpo.resume(run, final_policy="average", progress=False)
    assert read_policy(run / POLICIES[1]).digest == read_policy(whole).digest


def test_a_config_stores_the_final_policy_unless_it_is_the_last_one(whole):
    usual, other = configure(CART, final_policy="last", **TINY), configure(CART, **TINY)
    assert not {"final_policy", "validation_episodes"} & usual.plain().keys()
    assert other.plain() == usual.plain() | {"final_policy": "average"}
    assert Config.from_plain(other.plain()) == other
    assert other.fingerprint == usual.fingerprint
    assert configure_each(CART, ["ascpo"], [0], TINY) == [other]
    assert configure(CART, preset="released", **TINY).final_policy == "last", "as the paper does"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"validation_episodes": 9}, "validation_episodes=9 changes nothing: they are for final_policy=selected"),
        ({"final_policy": "average", "average_epochs": 0}, "needs the policies of the last epochs"),
        ({"final_policy": "best"}, "final_policy='best' is not known"),
        ({"final_policy": "selected", "validation_episodes": 0}, "validation_episodes=0 must be a whole number from 1"),
    ],
)
def test_impossible_choices_of_the_policy_are_refused(given, sentence):
    with pytest.raises(BadSetting, match=sentence):
        configure(CART, **TINY, **given)


def test_the_mean_of_a_shielded_policy_has_the_last_shield():
    agent = agent_of("trpo-usl", average_epochs=2)
    learner = agent.init(0, epochs=10)
    size = len(learner.policy.theta)
    rows = jnp.stack([learner.policy.theta - 1.0, learner.policy.theta])
    learner = replace(learner, recent=replace(learner.recent, theta=rows, count=jnp.int32(2)))
    first, last, average = candidates_of(agent, TrainingState(8, 0.0, learner, {}))
    assert [one.source for one in (first, last, average)] == [
        Source("selected", 7, 7), Source("last", 8, 8), Source("average", 7, 8)
    ]  # fmt: skip
    assert_array_equal(last.theta, agent.acting(learner))
    np.testing.assert_allclose(average.theta[:size], learner.policy.theta - 0.5, atol=1e-6)
    for one in (first, average):
        assert_array_equal(one.theta[size:], last.theta[size:])


def outcome(failures, violations=0, mean_return=0.0):
    return Outcome(100, violations, failures - violations, failures, mean_return, 0.0)


def test_selection_prefers_fewer_failures_then_fewer_violations_then_return_then_the_latest():
    few, many = outcome(3, 3), outcome(5, 0)
    assert best_of([many, few, many]) == 1
    assert best_of([outcome(5, 2, 9.0), outcome(5, 1), outcome(5, 3)]) == 1
    assert best_of([outcome(5, 1, 2.0), outcome(5, 1, 3.0), outcome(5, 1, 1.0)]) == 1
    assert best_of([few, few]) == 1


@pytest.mark.parametrize("failures", [0, 1, 37, 99, 100])
def test_the_bound_of_failures_is_the_exact_one_of_certificates(failures):
    """L bounds the share of the others from below."""
    assert outcome(failures).upper_bound == pytest.approx(1.0 - lower_bound(failures, 100, 0.95), abs=1e-9)


def constant(agent, action):
    """Parameters of a policy that takes nearly the same action in every state."""
    networks = agent.actor.networks
    policy = networks.unravel_policy(jnp.zeros(networks.policy_size))
    policy = eqx.tree_at(lambda net: net.mean.layers[-1].bias, policy, jnp.full(1, action))
    return np.asarray(ravel_pytree(eqx.tree_at(lambda net: net.log_std, policy, jnp.full(1, -4.0)))[0])


ACTIONS = (1.0, 0.15, -0.5, 0.05)
"""After 20 steps the cart stands at 4, 0.6, −2 and 0.2. Only the first is beyond 1, and the way is the reward."""


def scripted(agent, state):
    sources = [Source("selected", 1, 1), Source("selected", 2, 2), Source("last", 3, 3), Source("average", 1, 3)]
    return [Candidate(constant(agent, action), one) for action, one in zip(ACTIONS, sources, strict=True)]


@pytest.fixture
def played(monkeypatch):
    """The seeds that selections play, one list per candidate."""
    seeds, play = [], selection.play

    def note(engine, actor, theta, origins, **how):
        seeds.append(origins)
        return play(engine, actor, theta, origins, **how)

    monkeypatch.setattr(selection, "play", note)
    return seeds


@pytest.fixture
def selecting(run, monkeypatch):
    """A run whose selection has scripted candidates."""
    monkeypatch.setattr(selection, "candidates_of", scripted)
    return run


@slow("selects again")
def test_among_safe_candidates_the_one_with_the_highest_return_is_selected(selecting, played):
    ascpo.resume(selecting, progress=False, **SELECTED)
    table = read_table(selecting / "selection.csv")
    assert table["Violations"].tolist() == table["Failures"].tolist() == [6, 0, 0, 0], "time-outs are no failures here"
    assert table["Timeouts"].tolist() == [6, 6, 6, 6]
    np.testing.assert_allclose(table["EpRet"], [4.0, 0.6, -2.0, 0.2], atol=0.15)
    assert table["Selected"].tolist() == [0, 1, 0, 0]
    assert read_policy(selecting).source == Source("selected", 2, 2)
    assert (read_policy(selecting).epochs, len(played)) == (3, 4)
    agent_theta = theta(selecting)
    assert agent_theta[-1] == -4.0
    assert not np.array_equal(agent_theta, theta(selecting / "policy-last.safetensors"))


def test_every_candidate_plays_the_same_validation_scenes_of_the_run(selecting, played):
    ascpo.resume(selecting, progress=False, **SELECTED)
    assert played == [[(seed_of(Purpose.VALIDATION, 0), i) for i in range(6)]] * 4


@slow("selects five times")
def test_a_complete_selection_is_not_repeated_unless_it_is_damaged_or_differs(selecting, played):
    ascpo.resume(selecting, progress=False, **SELECTED)
    before = contents(selecting, "policy.safetensors", "selection.csv", "selection.csv.sha256")
    ascpo.resume(selecting, progress=False)
    assert contents(selecting, "policy.safetensors", "selection.csv", "selection.csv.sha256") == before
    assert len(played) == 4
    (selecting / "selection.csv").write_bytes(before[1].replace(b"\r\n", b"1\r\n", 2))
    ascpo.resume(selecting, progress=False)
    assert contents(selecting, "policy.safetensors", "selection.csv", "selection.csv.sha256") == before
    assert len(played) == 8
    ascpo.resume(selecting, progress=False, validation_episodes=5)
    assert len(played) == 12


def test_a_selection_that_is_stopped_leaves_the_last_policy_and_says_so(selecting, monkeypatch, caplog):
    play, calls = selection.play, []

    def stop(*args, **how):
        calls.append(args)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return play(*args, **how)

    monkeypatch.setattr(selection, "play", stop)
    with caplog.at_level(logging.WARNING), pytest.raises(Stopped):
        ascpo.resume(selecting, progress=False, **SELECTED)
    assert f"the last policy is the final one of {selecting}. Resuming the run selects one." in caplog.text
    assert read_policy(selecting).source.kind == "last"
    assert not (selecting / "selection.csv").exists()
    ascpo.resume(selecting, progress=False)
    assert read_policy(selecting).source == Source("selected", 2, 2), "the run remembers what it was asked for"


@slow("selects again")
def test_the_policies_of_the_training_itself_are_the_candidates(run):
    """As no candidate is scripted, the parameters are those of the run's epochs and their mean."""
    ascpo.resume(run, progress=False, **SELECTED)
    table = read_table(run / "selection.csv")
    spans = list(zip(table["FirstEpoch"], table["LastEpoch"], strict=True))
    assert spans == [(1, 1), (2, 2), (3, 3), (1, 3)]
    chosen = read_policy(run).source
    assert (chosen.kind, spans[int(np.argmax(table["Selected"]))]) == ("selected", (chosen.first, chosen.last))


def test_the_report_shows_the_selection_and_the_final_policy(selecting, tmp_path, monkeypatch):
    monkeypatch.setattr("ascpo.report.document.draw", lambda groups: [])
    ascpo.resume(selecting, progress=False, **SELECTED)
    page = write_report([selecting], tmp_path / "report").read_text()
    assert "is the policy after 2 epochs, selected on validation scenes." in page
    assert 'the policy after 2 epochs <span class="badge yes">final policy</span></th><td>0 of 6</td>' in page
    assert 'role="alert"' not in page


@slow("selects and reports")
def test_the_report_names_policies_and_selections_that_do_not_match(selecting):
    usual = contents(selecting, *POLICIES)
    ascpo.resume(selecting, progress=False, **SELECTED)
    assert read_run(selecting).doubts == {}
    (selecting / POLICIES[0]).write_bytes(usual[0])
    assert "is stale: policy.safetensors was not selected by it" in read_run(selecting).doubts["selection.csv"]
    (selecting / "selection.csv").unlink()
    (selecting / "selection.csv.sha256").unlink()
    assert read_run(selecting).doubts == {}
    (selecting / POLICIES[1]).write_bytes(usual[2])
    assert "does not hold the policy that its name says" in read_run(selecting).doubts[POLICIES[1]]
    found = read_arrays(selecting / POLICIES[2])
    changed = {**found.arrays, "theta": -found.arrays["theta"]}
    (selecting / POLICIES[1]).write_bytes(sealed_arrays(found.about | {"kind": "last", "mean_of": [3, 3]}, changed))
    assert "should hold the same policy, but differ" in read_run(selecting).doubts[POLICIES[1]]


def test_an_evaluation_is_about_the_final_policy(whole):
    with pytest.raises(BadSetting, match=r"final one first: ascpo train --resume .* --final-policy average"):
        evaluate_run(whole / "policy-average.safetensors", 4)
