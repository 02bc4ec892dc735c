"""Help, and answers to mistyped words, come before anything heavy is imported."""

import subprocess
import sys

WORDS = (
    ("train", "--help"),
    ("train", "--algo", "pascpo", "--preset", "released", "--nothing"),
    ("train", "--num-envs", "0"),
    ("train", "--algo", "trpo", "--cost-fit.window", "5"),
    ("train", "--algo", "cpo", "--limits", "-1.0"),
    ("train", "--name", "a/b"),
    ("train", "--out", __file__),
    ("train", "--devices", "2"),
    ("train", "--processes"),
    ("train", "--limits", "0", "1"),
    ("train", "--max-episode-steps", "10"),
    ("train", "--env", "Pendulum-v1", "--threads", "2"),
    ("train", "--engine", "mjx", "--env", "CartPole-v1"),
    ("train", "--show"),
    ("train", "--algo", "scpo", "--preset", "released", "--show"),
    ("list", "algorithms"),
    ("list", "suites"),
    ("sweep", "--help"),
    ("sweep", "--set", "nothing=1"),
    ("hosts", "--help"),
    ("tune", "--help"),
    ("paper", "run", "--help"),
    ("zoo", "--help"),
    ("zoo", "list"),
    ("zoo", "show", "Point-1-Hazard"),
    ("paper", "list"),
    ("cache", "show"),
    ("cache", "unpack", "missing.tar"),
    ("check", "Pont-8-Hazard"),
    ("certify", "missing"),
    ("certify", "sb3:missing.zip", "--env", "Point-8-Hazard"),
    ("certify", "onnx:missing.onnx", "--env", "Point-8-Hazard"),
    ("certify", "python:math:nothing", "--env", "Point-8-Hazard"),
    ("certify", "python:math:sin", "--env", "Pont-8-Hazard"),
    ("certify", f"sb3:{__file__}", "--env", "Point-8-Hazard"),
    ("certify", "python:math:sin"),
    ("evaluate", "sb3:missing.zip", "--env", "Point-8-Hazard"),
)
COMMANDS = f"""
import contextlib, io
from ascpo.cli.main import main
for words in {WORDS}:
    sys.argv[1:] = words
    said = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        main()
    assert said.getvalue(), words
"""


def heavy_imports(program):
    """What a program imports of the packages that take long."""
    named = f"import sys\n{program}\nprint(*{{'jax', 'equinox', 'optax', 'mujoco', 'matplotlib'}} & sys.modules.keys())"
    ended = subprocess.run([sys.executable, "-c", named], capture_output=True, text=True, check=True)
    return ended.stdout.split()


def test_a_command_line_is_parsed_without_jax():
    assert heavy_imports(COMMANDS) == []


def test_the_settings_of_a_training_and_of_its_algorithms_are_read_without_jax():
    assert heavy_imports("import ascpo.training.settings, ascpo.algorithms") == []


def test_the_process_of_an_environment_starts_without_jax():
    assert heavy_imports("import ascpo.engines.gymnasium.processes") == []


def test_python_dash_m_runs_the_command():
    ended = subprocess.run([sys.executable, "-m", "ascpo", "nothing"], capture_output=True, text=True, check=False)
    assert ended.stderr.startswith("ascpo: there is no command 'nothing'.")
