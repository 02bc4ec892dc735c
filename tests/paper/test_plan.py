"""From the arguments of a command to jobs, and the end of a sweep from the command line."""

import pytest

from ascpo.cli import paper
from ascpo.paper.experiments import BOX_EPISODES
from ascpo.paper.plan import Request, choose_engine, joined, plans
from ascpo.runs.serialization import BadSetting
from ascpo.runs.stopping import Stopped
from ascpo.sweep.executors import InProcess
from tests.paper.helpers import store_in


class Training:
    """Replaces the training in this process: it trains nothing, and fails for the given runs."""

    batches: "list[list[str]]" = []  # noqa: RUF012
    errors: "dict[str, BaseException]" = {}  # noqa: RUF012

    def __init__(self, batch, **options):
        for algo, error in Training.errors.items():
            if algo in [job.config.algo for job in batch]:
                raise error
        Training.batches.append([job.name.removeprefix("Point-1-Hazard-") for job in batch])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ascpo.paper.plan.run_batch", Training)
    monkeypatch.setattr("sys.argv", ["ascpo", "paper", "run", "q1"])
    Training.batches, Training.errors = [], {}

    def run(*typed):
        """What was printed, and the exit code."""
        code = 0
        try:
            paper.main(["run", "q1", "--suites", "Point-1-Hazard", *typed, "--seeds", "0", "--out", str(tmp_path)])
        except SystemExit as end:
            code = end.code
        return capsys.readouterr().out, code

    return run


def test_a_sweep_ends_with_the_command_that_shows_its_results(run, tmp_path):
    out, code = run("--algos", "trpo", "cpo", "--scale", "0.1")
    assert (code, Training.batches) == (0, [["trpo-seed0"], ["cpo-seed0"]])
    assert "2 trained, 0 finished before, 0 failed." in out
    assert f"ascpo paper show q1 --scale 0.1 --out {tmp_path}" in out


def test_a_training_that_diverges_leaves_the_others_alone_and_shows_in_the_exit_code(run):
    Training.errors = {"trpo": RuntimeError("Epoch 7 made numbers that are not finite.")}
    out, code = run("--algos", "trpo", "cpo")
    assert (code, Training.batches) == (1, [["cpo-seed0"]])
    assert "1 trained, 0 finished before, 1 failed." in out
    assert "Point-1-Hazard-trpo-seed0: Epoch 7 made numbers that are not finite." in out


def test_a_setting_that_one_algorithm_lacks_fails_that_algorithm_alone(run):
    out, code = run("--algos", "trpo", "ascpo", "--set", "mode=paper")
    assert (code, Training.batches) == (1, [["ascpo-seed0"]])
    assert "Point-1-Hazard-trpo-seed0: trpo has no setting 'mode'. ascpo and pascpo have it." in out
    assert run("--algos", "trpo", "ascpo", "--set", "ascpo.mode=paper")[1] == 0


def test_a_stop_says_how_to_resume(run):
    Training.errors = {"cpo": Stopped(15)}
    out, code = run("--algos", "trpo", "cpo", "scpo")
    assert (code, Training.batches) == (143, [["trpo-seed0"]])
    assert "Stopped by SIGTERM" in out
    assert "ascpo paper run q1" in out


def test_runs_of_a_suite_train_together_in_this_process(run):
    out, code = run("--algos", "trpo", "scpo", "--together")
    assert (code, Training.batches) == (0, [["trpo-seed0", "scpo-seed0"]])
    assert "[1 to 2 of 2] batch of 2 runs of Point-1-Hazard: 200 epochs; " in out
    assert "2 trained, 0 finished before, 0 failed." in out


def test_suites_that_share_a_gpu_are_a_batch_each(run, monkeypatch):
    asked = []

    def opened(placement, jobs, folder):
        asked.append((placement.on, placement.resources.gpus, {job.config.engine for job in jobs}))
        return InProcess(Training)

    monkeypatch.setattr(paper, "open_executor", opened)
    monkeypatch.setattr("ascpo.paper.plan.choose_engine", lambda *_: ("mjx-jax", ""))
    assert run("--algos", "trpo", "scpo", "--gpus", "0.25", "--engine", "mjx-jax")[1] == 0
    assert asked == [("local", 0.25, {"mjx-jax"})]
    assert Training.batches == [["trpo-seed0", "scpo-seed0"]]


@pytest.mark.parametrize("several", [("--jobs", "2"), ("--gpus", "0.5")])
def test_runs_train_together_or_in_processes_and_not_both(capsys, several):
    with pytest.raises(SystemExit):
        paper.main(["run", "q1", "--together", *several])
    assert "Use one of them" in " ".join(capsys.readouterr().err.split())


def test_the_name_all_leaves_out_experiments_without_the_suite(tmp_path):
    found = plans(Request(("all",), store_in(tmp_path), suites=["Ant-8-Hazard"]))
    assert [plan.experiment.name for plan in found] == ["q1", "scores", "boxes", "monotone", "pascpo"]


def test_isolated_runs_have_a_directory_of_their_own(tmp_path):
    (plan,) = plans(Request(("resources",), store_in(tmp_path)))
    assert {job.directory.parent.name for job in plan.jobs} == {"alone"}


def test_the_number_of_episodes_can_be_set(tmp_path):
    (plan,) = plans(Request(("histogram",), store_in(tmp_path), episodes=7))
    assert {(job.evaluation.starts, job.evaluation.episodes) for job in plan.jobs} == {(5, 7)}


def test_a_setting_that_does_not_exist_is_refused_before_any_training(tmp_path):
    with pytest.raises(BadSetting, match="Did you mean horizon"):
        plans(Request(("q1",), store_in(tmp_path), set=("horizn=3",)))


def test_a_run_that_several_experiments_need_is_trained_once_and_has_their_episodes(tmp_path):
    wanted = Request(("q1", "boxes", "lagrangian", "resources"), store_in(tmp_path), ["Point-8-Hazard"], ["trpo"], [0])
    together, alone = joined(plans(wanted))
    assert (together.name, alone.name, alone.isolated) == ("q1, boxes", "resources", True)
    assert [(job.name, job.evaluation) for job in together.jobs] == [("Point-8-Hazard-trpo-seed0", BOX_EPISODES)]
    assert [job.directory.parent.name for job in alone.jobs] == ["alone"]


def test_an_algorithm_that_none_of_the_experiments_has_is_refused_with_its_name(tmp_path):
    with pytest.raises(BadSetting, match=r"boxes has no algorithm 'spco'\. Did you mean scpo"):
        plans(Request(("boxes", "monotone"), store_in(tmp_path), algos=["spco"]))


FREE, PILLARS = "Point-1-Hazard", "Point-8-Pillar"


def plan_for(tmp_path, engine, *suites):
    return plans(Request(("q1",), store_in(tmp_path), suites, ["trpo"], [0], engine=engine))[0]


class TestWithMjx:
    """The implementation in JAX suits this machine, wherever it can simulate the suite."""

    @pytest.fixture(autouse=True)
    def mjx(self, monkeypatch):
        pytest.importorskip("mujoco.mjx")
        monkeypatch.setattr("ascpo.engines.mjx.physics.best_implementation", lambda task: "jax")

    def test_a_suite_that_mjx_cannot_simulate_uses_the_native_engine_and_a_note_says_so(self, tmp_path):
        plan = plan_for(tmp_path, "mjx", FREE, PILLARS)
        assert [job.config.engine for job in plan.jobs] == ["mjx-jax", "native"]
        (note,) = plan.notes
        assert note.startswith(f"{PILLARS} uses the native engine. MJX's implementation in jax cannot simulate")

    def test_a_named_implementation_is_refused_where_it_cannot_run_and_the_others_continue(self, tmp_path):
        plan = plan_for(tmp_path, "mjx-jax", FREE, PILLARS)
        assert [job.config.engine for job in plan.jobs] == ["mjx-jax"]
        (error,) = plan.errors
        assert error.startswith(f"{PILLARS}-trpo-seed0: MJX's implementation in jax cannot simulate {PILLARS}")


def test_mjx_is_refused_where_it_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for engine in ("mjx", "mjx-jax"):
        with pytest.raises(BadSetting, match="MJX is not installed"):
            plan_for(tmp_path, engine, FREE)


def test_the_native_engine_does_not_check_mjx(monkeypatch):
    monkeypatch.setattr("ascpo.runs.environment.engine_name", None)
    assert choose_engine("native", PILLARS) == ("native", "")
