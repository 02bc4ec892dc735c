"""`ascpo completion`: what a shell offers after the Tab key."""

import shutil
import subprocess

import pytest

from ascpo.cli.completion import flags_of, script

FLAGS = {"train": ["--env", "--help", "--total-steps"], "list": ["--help"]}


def offered(*words):
    """What bash offers after these words."""
    bash = shutil.which("bash") or pytest.skip("There is no bash.")
    typed = " ".join(f"'{word}'" for word in words)
    program = (
        f"{script('bash', FLAGS)}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _ascpo; echo ${{COMPREPLY[@]}}"
    )
    ended = subprocess.run([bash, "-c", program], capture_output=True, text=True, check=True)
    return ended.stdout.split()


def test_commands_and_their_flags_are_completed():
    assert offered("ascpo", "t") == ["train"]
    assert offered("ascpo", "train", "--t") == ["--total-steps"]
    assert offered("ascpo", "list", "--t") == []
    assert offered("ascpo", "train", "runs") == [], "files are the shell's"


def test_the_flags_are_those_of_the_help():
    flags = flags_of("train")
    assert {"--env", "--total-steps", "--cost-fit.window", "--help"} <= set(flags)
    assert all(flag.startswith("--") for flag in flags)
    assert flags_of("check") == ["--help"], "its words name flags of `ascpo train`"


def test_the_command_prints_the_script_with_all_commands(ascpo, monkeypatch):
    monkeypatch.setattr("ascpo.cli.completion.flags_of", lambda command: ["--help"])
    said = ascpo("completion", "zsh")
    assert "bashcompinit" in said
    assert 'new-env) words="--help" ;;' in said
