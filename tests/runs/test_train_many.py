"""Runs that train at the same time write the same files as each would alone."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ascpo
from ascpo.runs.active_run import Run
from ascpo.runs.api import OneRunAtATime, Options, relaunch, train_many, with_length
from ascpo.runs.config import configure
from ascpo.runs.directory import find
from ascpo.runs.serialization import BadSetting
from ascpo.runs.tables import read_table
from ascpo.runs.trained_policy import read_policy
from ascpo.runs.trainer import check_can_share
from tests.own import make as make_cart
from tests.runs.helpers import EPOCH, POINT, TINY
from tests.slow import always, slow

QUIET = TINY | {"progress": False, "checkpoint_every": 0.0}


def train_seeds(out, engine, epochs=2, seeds=(0, 1), **more):
    chosen = QUIET | {"engine": engine} | more
    results = train_many(POINT, seeds=seeds, total_steps=epochs * EPOCH, out=out, **chosen)
    return [result.directory for result in results]


def files(run):
    return find(run).metrics.read_bytes(), np.asarray(read_policy(run).theta).tobytes()


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    return train_seeds(tmp_path_factory.mktemp("native"), "native")


@pytest.fixture(scope="module")
def mjx(tmp_path_factory):
    return train_seeds(tmp_path_factory.mktemp("mjx"), "mjx-jax")


@pytest.mark.parametrize("engine", always(["native", "mjx"], "native"))
def test_every_run_has_its_own_complete_directory(engine, request):
    for seed, run in enumerate(request.getfixturevalue(engine)):
        directory = find(run)
        assert run.name == f"Point-1-Hazard-ascpo-seed{seed}"
        assert directory.config().seed == seed
        assert list(read_table(directory.metrics)["TotalEnvInteracts"]) == [EPOCH, 2 * EPOCH]
        assert (read_table(directory.timing)["StepsPerSecond"] > 0).all()
        assert len(list(directory.checkpoints.iterdir())) == 2
        assert str(ascpo.load(run)) == "TrainedPolicy(ascpo on Point-1-Hazard, 2 epochs)"
        assert (run / "versions.json").exists()


def test_on_the_host_a_run_is_bit_identical_alone_and_beside_others(native, tmp_path):
    for seed, run in enumerate(native):
        alone = ascpo.train(POINT, seed=seed, total_steps=2 * EPOCH, out=tmp_path, **QUIET).directory
        assert files(alone) == files(run)


@slow("MJX is compiled")
def test_with_mjx_runs_begin_like_native_ones_and_differ_by_seed(mjx, native):
    """Layouts are the native ones, and physics for some steps, so that the first epochs are alike."""
    for ours, theirs in zip(mjx, native, strict=True):
        one, two = (read_table(find(run).metrics) for run in (ours, theirs))
        for name in ("EpRet", "EpCost", "EpLen"):
            assert_allclose(one[name][0], two[name][0], atol=0.02)
    assert files(mjx[0]) != files(mjx[1])


@pytest.mark.parametrize("engine", always(["native", "mjx"], "native"))
def test_runs_that_were_stopped_continue_at_the_same_time(engine, request, tmp_path):
    whole = request.getfixturevalue(engine)
    config = find(whole[0]).config()
    directories = [find(run) for run in train_seeds(tmp_path, config.engine, epochs=1)]
    runs = [Run(with_length(run.config(), 2 * EPOCH), run) for run in directories]
    relaunch(runs, POINT, Options(progress=False, checkpoint_every=0.0))
    assert [files(run.path) for run in directories] == [files(run) for run in whole]


def test_your_own_environments_train_one_seed_at_a_time(tmp_path):
    with pytest.raises(OneRunAtATime, match="Your own environments train one seed at a time"):
        train_many(make_cart, seeds=(0, 1), total_steps=EPOCH, out=tmp_path, **QUIET)
    assert not list(tmp_path.iterdir())


def test_the_same_run_twice_is_refused(tmp_path):
    with pytest.raises(BadSetting, match="Point-1-Hazard-ascpo-seed3 is given twice"):
        train_seeds(tmp_path, "native", seeds=(3, 3))


@pytest.mark.parametrize(
    ("name", "values"),
    [("total_steps", (1e6, 2e6)), ("max_episode_steps", (7, 9)), ("limits", (0.0, 0.5)), ("carry", (True, False))],
)
def test_runs_share_an_engine_only_if_it_would_be_the_same_for_each(name, values):
    """A world of your own is told the limits: an episode whose simulation breaks down goes over them."""
    configs = [configure("tests.worlds:slope", **{name: value}) for value in values]
    with pytest.raises(BadSetting, match=f"need the same {name}"):
        check_can_share(configs)
    check_can_share(configs[:1] * 2)


def test_an_engine_of_a_suite_does_not_depend_on_limits():
    check_can_share([configure(POINT, limits=limit) for limit in (0.0, 0.5)])


def test_more_devices_than_there_are_are_refused(tmp_path):
    with pytest.raises(BadSetting, match="devices=99: this machine has 1"):
        train_seeds(tmp_path, "mjx-jax", devices=99)
    assert not list(tmp_path.iterdir())


@slow("imports everything again")
def test_mjx_is_imported_only_if_it_is_used(tmp_path):
    code = f"""
import sys, ascpo
from ascpo.cli.main import main
sys.argv = ["ascpo", "train", "--help"]
try:
    main()
except SystemExit:
    pass
ascpo.train({POINT!r}, total_steps={EPOCH}, out={str(tmp_path)!r}, **{QUIET!r})
print(*(name for name in sys.modules if name.split(".")[0] == "warp" or name.startswith("mujoco.mjx")), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--total-steps" in done.stdout
    assert find(tmp_path / "Point-1-Hazard-ascpo-seed0").metrics.exists()
    assert done.stderr.strip() == ""
