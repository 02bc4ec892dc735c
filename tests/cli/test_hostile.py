"""Hostile input: every command refuses it at once with a few lines, and leaves nothing behind."""

import json
import re
import time

import numpy as np
import pytest
from safetensors.numpy import save

from ascpo.runs import host_memory
from ascpo.runs.config import configure
from ascpo.runs.serialization import flat, to_plain

ENORMOUS = "9" * 50
BOMBS = [
    ["--env", "Point-999999999-Hazard"],
    ["--env", f"Point-{'9' * 5000}-Hazard"],
    ["--env", "Point-0-Hazard"],
    ["--env", "Point--1-Hazard"],
    ["--env", "Point-8-Hazard+999999-Pillar"],
    ["--env", "Goal_Point_999999999Hazards"],
    ["--env", ""],
    ["--env", "x" * 100_000],
    ["--num-envs", "1e7"],
    ["--num-envs", "10000000"],
    ["--num-envs", ENORMOUS],
    ["--num-envs", "262144", "--horizon", "10000"],
    ["--horizon", "1e12"],
    ["--horizon", "1000000000000"],
    ["--seeds", "0..1000000"],
    ["--seeds", f"0..{ENORMOUS}"],
    ["--seeds", "1000000000..0,0..999999999"],
    ["--config", "/dev/zero"],
    ["--seeds", ",".join(map(str, range(2000)))],
    ["--seeds", "0..99", "--num-envs", "10000"],
    ["--seed", ENORMOUS],
    ["--hidden", "1000000000"],
    ["--hidden", *["64"] * 10_000],
    ["--hidden", *["16384"] * 100],
    ["--cost-fit.window", "1000000000"],
    ["--cost-fit.window", "100000"],
    ["--value-fit.iterations", "1000000", "--value-fit.batch-size", "1000000000"],
    ["--target.episodes", "1000000000"],
    ["--evaluate", "100000000"],
    ["--evaluate", "100000", "--seeding", "1"],
    ["--evaluate", "-1"],
    ["--total-steps", "1e30"],
    ["--total-steps", "nan"],
    ["--total-steps", "inf"],
    ["--total-steps=-1"],
    ["--total-steps", "0.5"],
]
NUMBERS = [
    ["--margin", "nan"],
    ["--margin", "-0.1"],
    ["--limits", "nan"],
    ["--limits", "inf"],
    ["--limits", *["0"] * 2000],
    ["--probability", "nan"],
    ["--probability", "1"],
    ["--trust-region.delta", "nan"],
    ["--trust-region.delta", "inf"],
    ["--output-bias", "nan"],
    ["--initial-log-std", "1e9"],
    ["--value-fit.learning-rate", "nan"],
    ["--cost-fit.learning-rate", "-1e-3"],
    ["--cost-gae-lambda", "nan"],
    ["--target.gain", "nan"],
    ["--algo", "ppo-lagrangian", "--ppo.descent.learning-rate", "nan"],
    ["--algo", "trpo-lagrangian", "--multiplier-rate", "nan"],
    ["--algo", "trpo-sl", "--warm-up", "nan"],
    ["--checkpoint-every", "nan"],
    ["--checkpoint-every", "-1"],
    ["--threads", "-1"],
    ["--threads", "1000000"],
    ["--devices", "-1"],
    ["--limits", "١٢"],
    ["--value-fit.iterations", "١٢"],
    ["--checkpoint-every", "１２"],
    ["--total-steps", "١٢"],
    ["--seeds", "٠..٣"],
    ["--max-episode-steps", "١٢"],
]
PLACES = [
    ["--name", "../x"],
    ["--name", "/abs"],
    ["--name", ""],
    ["--name", " "],
    ["--name", "."],
    ["--name", ".."],
    ["--name", "a/b"],
    ["--name", "a\\b"],
    ["--name", "a\nb"],
    ["--name", "a\x1b[31mb"],
    ["--name", "x" * 1000],
    ["--name", "../x", "--seeds", "0..1"],
    ["--name", "~"],
    ["--name", "~root"],
    ["--out", ""],
    ["--config", ""],
    ["--out", "file"],
    ["--out", "file/deeper"],
    ["--out", "x" * 1000],
]
OTHERS = [
    ["evaluate", "run", "--episodes", "0"],
    ["evaluate", "run", "--episodes", "-5"],
    ["evaluate", "run", "--episodes", ENORMOUS],
    ["evaluate", "run", "--keep", "-1"],
    ["evaluate", "run", "--seed", "-1"],
    ["evaluate", "run", "--threads", "-1"],
    ["evaluate", "/dev/null"],
    ["evaluate", "deep"],
    ["evaluate", "large"],
    ["evaluate", "lying"],
    ["certify", "run", "--threads", "-1"],
    ["certify", "run", "--limits", "nan"],
    ["certify", "large"],
    ["certify"],
    ["report", "nowhere"],
    ["report", "deep"],
    ["journal", "deep"],
    ["list", "runs", "deep"],
    ["report"],
    ["report", "run", "--out", ""],
    ["report", ""],
    ["list", "runs", ""],
    ["evaluate", ""],
    ["paper", "list", "--store", ""],
    ["journal", "nowhere"],
    ["journal", "run", ENORMOUS],
    ["replay", "run", "--port", "-1"],
    ["replay", "run", "--port", "65536"],
    ["replay", "nowhere"],
    ["video", "run", "--size", "0"],
    ["video", "run", "--size", "1000000"],
    ["video", "run", "--fps", "nan"],
    ["video", "run", "--episode", "-1"],
    ["paper", "list", "--scale", "nan"],
    ["paper", "run", "q1", "--scale", "inf"],
    ["paper", "run", "q1", "--scale=-1"],
    ["paper", "run", "q1", "--jobs", "0"],
    ["paper", "run", "q1", "--jobs", "1000000"],
    ["paper", "run", "q1", "--seeds=-1"],
    ["paper", "run", "q1", "--episodes=-1"],
    ["paper", "run", "q1", "--episodes", "10000000"],
    ["paper", "run", "q1", "--checkpoint-every", "nan"],
    ["paper", "run", "q1-Point-8-Hazard", "--set", "num_envs=10000000"],
    ["paper", "run", "q1-Point-8-Hazard", "--set", f"margin={'-' * 100_000}1"],
    ["paper", "run", "q1-Point-8-Hazard", "--set", f"margin={'1+' * 100_000}1"],
    ["paper", "run", "q1-Point-8-Hazard", "--set", "margin={[]: 1}"],
    ["paper", "run", "q1-Point-8-Hazard", "--set", "x" * 100_000],
    ["paper", "run", "x" * 100_000],
    ["paper", "x" * 100_000],
    ["list", "x" * 100_000],
    ["paper", "run", "q1", "--set", "cost_fit=3", "--set", "cost_fit.window=3"],
    ["paper", "show", "q1", "--last", "0"],
    ["check", "Point-999999999-Hazard"],
    ["list", "nothing"],
    ["train", "--resume", "deep"],
    ["train", "--config", "deep/config.json"],
    ["train", "--config", "number/config.json"],
    ["x" * 100_000],
]
ALL = [*(["train", *words] for words in (*BOMBS, *NUMBERS, *PLACES)), *OTHERS]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with a file, and with runs that were made to do harm."""
    (tmp_path / "file").write_text("")
    config = configure("Point-1-Hazard").plain()
    arrays = {"theta": np.zeros(100, np.float32), "low": -np.ones(2, np.float32), "high": np.ones(2, np.float32)}
    about = {"format": "ascpo policy 1", "config": config, "epochs": 1, "cost_names": ["hazard"]}
    policies = {
        "run": None,
        "deep": save(arrays, {"ascpo": "[" * 100_000 + "]" * 100_000}),
        "large": save(arrays, {"ascpo": json.dumps({**about, "observation_size": 10**9})}),
        "lying": lying(json.dumps({**about, "observation_size": 41})),
        "number": None,
    }
    texts = {"deep": "[" * 100_000 + "]" * 100_000, "number": "3"}
    for name, policy in policies.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(texts.get(name, json.dumps(config)))
        if policy is not None:
            (tmp_path / name / "policy.safetensors").write_bytes(policy)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(host_memory, "_total", lambda: 64 * 2**30)
    return tmp_path


def names_of(words):
    """The typed settings, by the last part of their names. The error must name one of them."""
    flags = [word[2:].partition("=")[0].replace("-", "_") for word in words if word.startswith("--")]
    return {flag.rpartition(".")[2] for flag in flags} - {"env", "config", "resume", "set"}


def lying(about):
    """A policy file whose header claims 10¹² numbers."""
    shape = {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}
    header = json.dumps({"__metadata__": {"ascpo": about}, "theta": shape, "low": shape, "high": shape}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(64)


@pytest.mark.parametrize("words", ALL, ids=[" ".join(words)[:60] for words in ALL])
def test_hostile_input_is_refused_at_once_in_a_few_lines_and_leaves_nothing_behind(words, place, ascpo, capsys):
    before, began = sorted(place.rglob("*")), time.perf_counter()
    with pytest.raises(SystemExit) as end:
        ascpo(*words)
    assert end.value.code not in (0, None)
    printed = capsys.readouterr()
    said = f"{printed.out}{printed.err}{end.value.code if isinstance(end.value.code, str) else ''}"
    assert "Traceback" not in said
    assert said.strip()
    named = set(re.split(r"\W+", said.replace("--", " ").replace("-", "_")))
    assert names_of(words) & named or not names_of(words), said
    assert len(said) < 4000
    assert sorted(place.rglob("*")) == before
    assert time.perf_counter() - began < 20.0


@pytest.mark.parametrize(
    "name", [name for name, value in flat(to_plain(configure("a"))).items() if isinstance(value, float)]
)
def test_no_flag_takes_nan(name, ascpo, place):
    needs = {"paper": ("k", "omega1", "omega2"), "chernoff": ("tau", "cap")}
    mode = [word for mode, names in needs.items() if name in names for word in ("--mode", mode)]
    with pytest.raises(SystemExit, match=rf"\b{name}=nan must be a number"):
        ascpo("train", f"--{name.replace('_', '-')}", "nan", *mode)


def test_there_are_at_least_a_hundred_hostile_inputs():
    assert len(ALL) >= 100
