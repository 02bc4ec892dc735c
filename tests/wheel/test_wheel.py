"""The wheel: its files, and that it trains without the rest of the repository."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.slow import slow

ROOT = Path(__file__).parents[2]
SMALL = ["--num-envs", "2", "--horizon", "40", "--total-steps", "160", "--evaluate", "2"]
CHECKS = """
import sys, ascpo, gymnasium
assert sys.argv[1] not in ascpo.__file__, ascpo.__file__
policy = ascpo.load(sys.argv[2])
env = gymnasium.make("ascpo/Point-1-Hazard-v0")
observation, info = env.reset(seed=0)
policy.start()
assert env.action_space.shape == policy.act(observation, info).shape
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    place = tmp_path_factory.mktemp("dist")
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    call(sys.executable, *build, place, ROOT, cwd=place)
    return next(place.glob("ascpo-*.whl"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of an environment with the wheel, and with the dependencies that are installed here already."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    theirs = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    call(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-compile", wheel)
    # After the environment's own packages, so that its ascpo is found first. Files *.pth there are not followed, so
    # that the checkout, which is installed in place, stays out.
    Path(theirs, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def call(*words, cwd=None):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_every_file_of_the_package(wheel):
    tracked = call("git", "ls-files", "src/ascpo", cwd=ROOT).splitlines()
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {name.removeprefix("src/") for name in tracked} <= held
    assert {name for name in held if ".dist-info/" not in name and not name.startswith("ascpo/")} == set()


def test_a_policy_of_the_wheels_zoo_acts(python, tmp_path):
    assert call(python.parent / "ascpo", "--version", cwd=tmp_path).strip() == "0.1.0"
    call(python, "-c", CHECKS, ROOT, "zoo:Point-1-Hazard", cwd=tmp_path)


@slow("the tests of the command line train from the checkout")
def test_the_wheel_trains_and_its_policy_acts(python, tmp_path):
    program = python.parent / "ascpo"
    call(program, "train", "--env", "Point-1-Hazard", *SMALL, "--out", "runs", cwd=tmp_path)
    call(program, "new-env", "puddle", cwd=tmp_path)
    call(program, "check", "puddle:make", cwd=tmp_path)
    assert (tmp_path / "runs/Point-1-Hazard-ascpo-seed0/report/index.html").stat().st_size > 10_000
    call(python, "-c", CHECKS, ROOT, "runs/Point-1-Hazard-ascpo-seed0", cwd=tmp_path)
