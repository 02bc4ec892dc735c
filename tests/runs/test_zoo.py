"""The zoo: runs in single files, which become runs again, and policies that are what their certificates say."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ascpo
from ascpo.evaluation.certificate import read_certificate
from ascpo.runs.files import BadFile, NoRun
from ascpo.runs.places import run_place
from ascpo.runs.tables import read_table
from ascpo.runs.trained_policy import read_policy
from ascpo.runs.zoo import FILES, ZooPolicy, packed, zoo_policies, zoo_policy
from tests.evaluation.untrained import untrained

SUITE = "Point-1-Hazard"
every_policy = pytest.mark.parametrize("policy", zoo_policies(), ids=lambda policy: policy.name)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that was evaluated and certified."""
    return zoo_policy(SUITE).unpack(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def policy(run, tmp_path):
    file = tmp_path / "policy.zip"
    file.write_bytes(packed(run))
    return ZooPolicy(file)


def test_a_run_is_packed_into_a_file_and_unpacked_again(run, policy, tmp_path):
    place = policy.unpack(tmp_path / "zoo")
    assert place.name == f"{SUITE}-ascpo"
    kept = {file.name: file.read_bytes() for file in run.iterdir() if file.name in FILES}
    assert {file.name: file.read_bytes() for file in place.iterdir()} == kept
    assert packed(place) == packed(run)


def test_checksums_that_follow_from_their_table_are_not_packed(run, policy):
    names = {file.name for file in run.iterdir() if file.name.endswith(".sha256")}
    assert {"metrics.csv.sha256", "timing.csv.sha256"} <= names
    assert not names & set(policy._names())


def test_other_checksums_are_packed_as_they_are(run, tmp_path):
    """A table that was changed is still recognised as such when it comes out of the zoo."""
    changed = tmp_path / "changed"
    shutil.copytree(run, changed)
    (changed / "metrics.csv").write_bytes((run / "metrics.csv").read_bytes().replace(b",0.", b",1."))
    file = tmp_path / "policy.zip"
    file.write_bytes(packed(changed))
    with pytest.raises(BadFile, match=r"metrics\.csv is damaged, or metrics\.csv\.sha256 is"):
        read_table(ZooPolicy(file).unpack(tmp_path / "zoo") / "metrics.csv")


def test_a_packed_policy_has_its_figures_without_unpacking(run, policy):
    assert policy.name == f"{SUITE}/ascpo"
    assert policy.evaluation["Episodes"] == len((run / "episodes-sampled.csv").read_text().splitlines()) - 1
    assert policy.certificate == json.loads((run / "certificate.json").read_text())


def test_files_added_to_an_unpacked_run_stay(policy, tmp_path):
    place = policy.unpack(tmp_path / "zoo")
    (place / "notes.txt").write_text("mine")
    assert policy.unpack(tmp_path / "zoo") == place
    assert (place / "notes.txt").read_text() == "mine"


def test_another_run_in_its_place_is_not_touched(policy, tmp_path):
    place = policy.unpack(tmp_path / "zoo")
    (place / "policy.safetensors").write_bytes(b"another")
    with pytest.raises(NoRun, match=r"holds something other than zoo:Point-1-Hazard/ascpo\. Move it away\."):
        policy.unpack(tmp_path / "zoo")


def test_a_run_without_a_certificate_is_not_accepted(tmp_path):
    with pytest.raises(
        NoRun, match=r"has no evaluation\.json\. Evaluate and certify a run before you add it to the zoo\."
    ):
        packed(untrained(tmp_path, env=SUITE))


def test_a_file_with_anything_else_in_it_is_refused(policy, tmp_path):
    with zipfile.ZipFile(policy.file, "a") as archive:
        archive.writestr("../escaped.txt", "no")
    with pytest.raises(BadFile, match=r"it holds \.\./escaped\.txt"):
        policy.unpack(tmp_path / "zoo")
    assert not (tmp_path / "escaped.txt").exists()


def test_a_damaged_file_is_named(policy, tmp_path):
    policy.file.write_bytes(policy.file.read_bytes()[:-100])
    with pytest.raises(BadFile, match=r"policy\.zip is damaged"):
        policy.unpack(tmp_path / "zoo")


@pytest.mark.parametrize("member", ["metrics.csv", "policy.safetensors"])
def test_damage_inside_of_a_file_is_found(policy, member, tmp_path):
    content = bytearray(policy.file.read_bytes())
    with zipfile.ZipFile(policy.file) as archive:
        begin = archive.getinfo(member).header_offset + 200
    content[begin : begin + 50] = bytes(50)
    policy.file.write_bytes(content)
    with pytest.raises(BadFile, match=r"policy\.zip is damaged"):
        policy.unpack(tmp_path / "zoo")


def test_a_suite_name_means_its_ascpo_policy_and_mistyped_names_get_a_suggestion():
    assert zoo_policy("zoo:Point-1-Hazard").algo == "ascpo"
    with pytest.raises(NoRun, match=r"The zoo has no Point-1-Hazzard/ascpo\. Did you mean Point-1-Hazard/ascpo"):
        zoo_policy("Point-1-Hazzard")


def test_a_policy_is_loaded_by_its_name_without_writing_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loaded = ascpo.load("zoo:Point-1-Hazard")
    env = ascpo.make("Point-1-Hazard")
    observation, info = env.reset(seed=0)
    loaded.start()
    assert np.isfinite(loaded.act(observation, info)).all()
    assert not list(tmp_path.iterdir())


def test_the_directory_of_a_policy_is_created_in_the_current_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_place(Path("zoo:Point-1-Hazard")) == Path("runs/zoo/Point-1-Hazard-ascpo")
    assert (tmp_path / "runs/zoo/Point-1-Hazard-ascpo/policy.safetensors").exists()


@every_policy
def test_every_policy_matches_its_certificate_and_its_evaluation(policy, tmp_path):
    place = policy.unpack(tmp_path)
    found, certificate = read_policy(place), read_certificate(place / "certificate.json")
    assert policy.file.name == f"{policy.suite}-{policy.algo}.zip"
    assert found.verified
    assert certificate.plan.policy == found.digest == policy._json("evaluation.json")["policy"]
    assert certificate.plan.env == policy.suite


def test_the_zoo_is_small_enough_to_come_with_the_package():
    assert sum(policy.file.stat().st_size for policy in zoo_policies()) < 6e6
