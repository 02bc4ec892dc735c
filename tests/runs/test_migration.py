"""Files of earlier versions: configs, policies and certificates still load."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import ascpo
from ascpo.algorithms import PASCPO, TRPOIPO, TRPOUSL, CPOCVaR, PPOLagrangian, TRPOCVaR
from ascpo.algorithms.ppo_settings import PPOSettings
from ascpo.evaluation.certificate import read_certificate
from ascpo.runs.config import Config, configure, fingerprint_of
from ascpo.runs.directory import RunDirectory
from ascpo.runs.migration import migrate
from ascpo.runs.serialization import BadSetting
from ascpo.runs.trained_policy import read_policy
from ascpo.surrogates.settings import TargetSettings
from tests.runs.helpers import EPOCH, POINT, TINY

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
EVIDENCE = sorted(path.parent for path in (RESULTS / "evidence").glob("*/policy.safetensors"))
OLD = [path for group in ("evidence", "paper", "fourteen") for path in sorted((RESULTS / group).glob("**/config.json"))]


@dataclass(frozen=True)
class CriticFit:
    """Settings as a later version has them."""

    iterations: int = 80
    batch_size: int = 4096
    learning_rate: float = 1e-3


@dataclass(frozen=True)
class LaterSettings:
    gae_lambda: float = 0.97
    cost_gae_lambda: float | None = None
    value_fit: CriticFit = field(default_factory=CriticFit)


@dataclass(frozen=True)
class WithTarget:
    k: float = 7.0
    target: object = None


@dataclass(frozen=True)
class WithoutTarget:
    pass


LATER = {"settings": LaterSettings, "methods": {"ascpo": WithTarget, "trpo": WithoutTarget}}


def config(algo="ascpo", **settings):
    return {"env": "a", "algo": algo, "settings": settings, "method": {}}


@pytest.mark.parametrize("file", OLD, ids=lambda path: f"{path.parents[1].name}/{path.parent.name}")
def test_configs_of_earlier_versions_are_read(file):
    plain = json.loads(file.read_text())
    found = RunDirectory(file.parent).config()
    assert found.algo == plain["algo"]
    assert found.settings.num_envs == plain["settings"]["num_envs"]
    assert Config.from_plain(found.plain()) == found


def test_a_current_config_is_left_alone():
    plain = configure("a", "cpo", limits=(0.0, 0.5)).plain()
    assert migrate(plain) == plain


def test_a_migrated_config_can_be_migrated_again():
    plain = json.loads((EVIDENCE[0] / "config.json").read_text())
    later = migrate(plain, **LATER)
    assert migrate(later, **LATER) == later != plain


def test_shared_settings_get_their_new_names():
    assert migrate(config(decay=0.9, cost_decay=None), **LATER)["settings"] == {
        "gae_lambda": 0.9,
        "cost_gae_lambda": None,
    }


@pytest.mark.parametrize(
    ("ask", "target"),
    [
        (
            {"closed": True, "share": 0.97, "relief": 0.25, "patience": 0.1, "memory": 0.7},
            {"kind": "feedback", "share": 0.97, "timeout_relief": 0.25, "timeout_share": 0.1, "smoothing": 0.7},
        ),
        ({"closed": False, "share": 0.5, "relief": 0.0}, {"kind": "capped", "share": 0.5, "timeout_relief": 0.0}),
        ({"closed": False}, {"kind": "capped"}),
        ({"closed": False, "share": None, "relief": 0.1}, {"kind": "own"}),
        ({}, {"kind": "feedback"}),
    ],
)
def test_the_former_setting_ask_becomes_the_target(ask, target):
    later = migrate(config(ask=ask), **LATER)
    assert later["method"] == {"target": target}
    assert "ask" not in later["settings"]
    assert migrate(config("trpo", ask=ask), **LATER) == config("trpo")


def test_former_value_critic_settings_are_dropped_if_inert_and_refused_otherwise():
    inert = {"balance": "none", "monotone_weight": 0.0, "window": 1, "forget": 0.9}
    later = migrate(config(value_fit={"iterations": 5} | inert), **LATER)
    assert later["settings"]["value_fit"] == {"iterations": 5}
    with pytest.raises(BadSetting, match=r"value_fit\.window=3 was a setting of an earlier version"):
        migrate(config(value_fit=inert | {"window": 3}), **LATER)


def test_former_algorithm_settings_are_dropped_if_inert_and_refused_otherwise():
    stored = configure("Point-8-Hazard").plain()
    dropped = {**stored, "method": {**stored["method"], "dwell_weight": 0.0}}
    assert Config.from_plain(dropped) == Config.from_plain(stored)
    with pytest.raises(BadSetting, match=r"method\.dwell_weight=0\.1 was a setting of an earlier version"):
        Config.from_plain({**stored, "method": {**stored["method"], "dwell_weight": 0.1}})


STORED = {"multiplier_rate": 1.0, "ppo": {"clip": 0.1, "clip_costs": True}}
REFERENCE = {
    "trpo-usl": ({"threshold": 0.2, "warm_up": 0.5}, TRPOUSL(threshold=0.0, warm_up=0.5)),
    "trpo-ipo": ({"t": 20.0, "slope": 0.1}, TRPOIPO(t=0.01, slope=0.0005)),
    "trpo-cvar": ({"alpha": 0.9, "strength": 0.1}, TRPOCVaR(alpha=0.3, strength=0.1)),
    "cpo-cvar": ({"target": {"kind": "own"}}, CPOCVaR(alpha=0.3, target=TargetSettings(kind="own"))),
    "pascpo": (
        {"k": 3.0},
        PASCPO(mode="reference", ascent="cost", k=3.0, multiplier_rate=0.005, strength=0.05, rescaled=False),
    ),
    "ppo-lagrangian": (
        STORED,
        PPOLagrangian(multiplier_rate=0.005, rescaled=False, ppo=PPOSettings(clip=0.1, clip_costs=False)),
    ),
}
"""Algorithm → its settings beside an earlier `preset: reference`, and what they are today."""


@pytest.mark.parametrize("algo", REFERENCE)
def test_the_former_preset_reference_becomes_its_settings(algo):
    stored, today = REFERENCE[algo]
    plain = config(algo) | {"method": stored | {"preset": "reference"}}
    found = Config.from_plain(plain)
    assert found.method == today
    assert Config.from_plain(found.plain()) == found
    assert plain["method"]["preset"] == "reference", "the stored config is not changed"


@pytest.mark.parametrize("algo", REFERENCE)
def test_the_former_preset_working_becomes_the_defaults(algo):
    stored, _ = REFERENCE[algo]
    plain = config(algo) | {"method": stored | {"preset": "working"}}
    assert Config.from_plain(plain) == Config.from_plain(config(algo) | {"method": stored})


@pytest.mark.parametrize("run", EVIDENCE, ids=lambda path: path.name)
def test_policies_of_earlier_versions_keep_their_digest_and_fit_their_certificates(run):
    policy, plan = read_policy(run), read_certificate(run / "certificate.json").plan
    assert policy.digest == plan.policy
    assert ascpo.load(run).act(np.zeros(policy.observation_size)).shape == policy.low.shape


@pytest.mark.parametrize("run", EVIDENCE[:1], ids=lambda path: path.name)
def test_a_digest_is_computed_from_the_config_as_written_in_the_file(run, monkeypatch):
    """A version that knows the settings by other names reads the same digest."""
    before = read_policy(run).digest
    monkeypatch.setattr(Config, "plain", lambda config: {"everything": "has another name"})
    assert read_policy(run).digest == before


def test_a_run_of_an_earlier_version_keeps_its_config_file_and_its_checkpoints(tmp_path):
    quiet = TINY | {"progress": False, "checkpoint_every": 0.0}
    run = ascpo.train(POINT, total_steps=EPOCH, out=tmp_path, **quiet).directory
    directory, policy = RunDirectory(run), read_policy(run)
    spelled = json.loads(directory.config_file.read_text()) | {"engine": "native"}  # As no version of today spells it.
    del spelled["checksum"]
    assert directory.plain_config(directory.config()) == directory.config().plain()
    directory.config_file.write_text(json.dumps(spelled))
    longer = configure(POINT, total_steps=2 * EPOCH, **TINY)
    assert directory.plain_config(longer) == spelled | {"total_steps": 2 * EPOCH}
    assert fingerprint_of(directory.plain_config(longer)) == fingerprint_of(spelled) != longer.fingerprint
    assert directory.plain_config(configure(POINT, discount=0.9, **TINY))["settings"]["discount"] == 0.9
    assert policy.plain_config == json.loads(json.dumps(policy.config.plain()))
