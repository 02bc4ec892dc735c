"""Seeds of scenes. Purposes, runs, environments and episodes have no scene in common."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ascpo
from ascpo.engines.actor import ScriptedActor
from ascpo.engines.contract import RunBatch
from ascpo.engines.gymnasium.engine import GymnasiumEngine
from ascpo.engines.native.engine import NativeEngine
from ascpo.environments.spaces import make_task
from ascpo.evaluation.certify import Request, certify
from ascpo.evaluation.evaluate import evaluate_run
from ascpo.evaluation.plan import CertificatePlan
from ascpo.evaluation.records import read_records
from ascpo.evaluation.retrace import retrace
from ascpo.guard.draws import keys_for
from ascpo.guard.layout import draw_many
from ascpo.runs.config import Config, configure
from ascpo.runs.directory import find
from ascpo.runs.serialization import BadSetting
from ascpo.runs.trained_policy import read_policy
from ascpo.seeding import LATEST, MAX_ENVS, SCHEMES, Purpose, reset_seed, seed_of, words
from tests.own import Cart
from tests.runs.helpers import CART, EPOCH, POINT, tiny
from tests.slow import slow

OLD, NEW = SCHEMES[1], SCHEMES[2]
SUITE = "Point-8-Hazard"
runs, envs, episodes = st.integers(0, 2**32 - 1), st.integers(0, MAX_ENVS - 1), st.integers(0, 2**31 - 1)
purposes = st.sampled_from(Purpose)
QUIET = tiny("trpo") | {"progress": False, "checkpoint_every": 0.0}


def task():
    return make_task(SUITE, "paper", "closest", 1000)


def scenes(found):
    """Layouts as a set: all places of a scene are one entry."""
    parts = (found.robot, found.goal, found.obstacles)
    places = np.concatenate([np.asarray(part, np.float32).reshape(len(found.robot), -1) for part in parts], axis=1)
    return {row.tobytes() for row in places}


def scenes_of(ids):
    return scenes(draw_many(task().rules, keys_for(*np.array(ids).T)))


def training_ids(scheme, run, num_envs, count):
    return list(itertools.product(scheme.training(run, num_envs).tolist(), range(count)))


def test_millions_of_episodes_have_as_many_keys():
    rng = np.random.default_rng(0)
    some_runs = [0, 1, 2, 2**18, 2**32 - 1, *rng.integers(0, 2**32, 15).tolist()]
    some_envs = [*range(30), MAX_ENVS - 1, *rng.integers(30, MAX_ENVS - 1, 9).tolist()]
    numbers = np.concatenate([np.arange(490), 2**31 - 1 - np.arange(10)])
    seeds = np.array([seed_of(*fields) for fields in itertools.product(Purpose, some_runs, set(some_envs))])
    at_a_time = np.array_split(seeds, 8)
    keys = np.concatenate([keys_for(np.repeat(some, len(numbers)), np.tile(numbers, len(some))) for some in at_a_time])
    assert len(keys) > 2_000_000
    in_order = keys[np.lexsort(keys.T)]
    assert (in_order[1:] != in_order[:-1]).any(axis=1).all(), "no key is equal to its neighbour"


@given(purposes, runs, envs)
def test_a_seed_encodes_its_purpose_its_run_and_its_environment(purpose, run, env):
    """So no other seed is equal to it."""
    seed = seed_of(purpose, run, env)
    assert (seed >> 50, seed >> 18 & 2**32 - 1, seed & 2**18 - 1) == (purpose, run, env)
    assert 2**50 <= seed < 2**53, "a number that JSON and CSV files keep, and no seed of a user"
    high, low = words(np.array(seed)).tolist()
    assert high << 32 | low == seed


@given(purposes, runs, envs, episodes)
def test_the_key_of_a_scene_is_the_seed_and_the_number_of_the_episode(purpose, run, env, episode):
    seed = seed_of(purpose, run, env)
    ((high, low, number),) = keys_for(np.array([seed]), np.array([episode])).tolist()
    assert (high << 32 | low, number) == (seed, episode + 1)


@given(st.integers(0, 2**32 - 1), episodes)
def test_seeds_of_users_have_their_own_keys(seed, episode):
    assert keys_for(np.array([seed]), np.array([episode]))[0, 2] == 0


@given(purposes, runs, envs, episodes)
def test_a_reset_seed_encodes_its_purpose_and_fits_into_a_signed_integer(purpose, run, env, episode):
    found = reset_seed(seed_of(purpose, run, env), episode)
    assert found >> 28 == purpose
    assert 0 <= found < 2**31


def test_reset_seeds_differ_between_runs_environments_and_episodes():
    found = [NEW.training_reset(*ids) for ids in itertools.product((0, 1, 2**32 - 1), range(10), range(100))]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(("run", "env"), [(-1, 0), (2**32, 0), (0, -1), (0, MAX_ENVS)])
def test_impossible_seeds_are_refused(run, env):
    with pytest.raises(ValueError, match=r"must lie between 0 and|Use a smaller num_envs"):
        seed_of(Purpose.TRAINING, run, env)


def test_more_environments_than_a_run_can_have_are_refused():
    with pytest.raises(ValueError, match="smaller num_envs"):
        NEW.training(0, MAX_ENVS + 1)
    assert NEW.training(0, MAX_ENVS)[-1] < NEW.training(1, 1)[0]


def test_runs_0_and_1_share_no_scene():
    first, second = (scenes_of(training_ids(NEW, run, 30, 20)) for run in (0, 1))
    assert len(first) == len(second) == 600
    assert not first & second


def test_in_version_1_runs_0_and_1_shared_29_of_30_environments():
    first, second = (scenes_of(training_ids(OLD, run, 30, 20)) for run in (0, 1))
    assert len(first & second) == 29 * 20


def test_no_scene_is_drawn_for_two_purposes():
    """The same run, environments and episodes for every purpose, and the seeds that users give."""
    by_purpose = [
        scenes_of([(seed_of(purpose, run, env), i) for run in (0, 1) for env in range(10) for i in range(20)])
        for purpose in Purpose
    ]
    by_purpose.append(scenes_of([(seed, i) for seed in range(20) for i in range(20)]))
    assert [len(found) for found in by_purpose] == [400] * 7
    assert len(set().union(*by_purpose)) == 7 * 400


def test_no_scene_of_a_certificate_evaluation_validation_or_fixed_start_occurs_in_training():
    engine, actor = NativeEngine(task(), 20, 1), ScriptedActor()
    engine.start([RunBatch(actor, (0, 1))])
    trained = set()
    for _ in range(20):
        trained |= scenes(engine.memory.layout)
        engine.cut()
    assert len(trained) == 400
    plan = CertificatePlan(env=SUITE, policy="a", family=("a",), cost_names=("hazard",), limits=(0.0,))
    others = [plan.origins, NEW.evaluation(0, 200), NEW.evaluation(1, 200), NEW.fixed_starts(5)]
    others += [NEW.validation(0, 200), NEW.validation(1, 200)]
    drawn = [scenes_of(origins) for origins in others]
    assert not trained & set().union(*drawn)
    assert len(set().union(*drawn)) == sum(map(len, others))
    engine.start_at(actor, plan.origins[:20])
    assert scenes(engine.memory.layout) <= drawn[0], "the engine plays these scenes"


@given(runs, runs)
def test_validation_scenes_are_no_scenes_of_certificates_or_evaluations_in_either_version(run, other):
    validated = {seed for seed, _ in [*NEW.validation(run, 2), *OLD.validation(run, 2)]}
    assert validated == {seed_of(Purpose.VALIDATION, run)}
    kept = [*NEW.certificate(other, 2), *NEW.evaluation(other, 2), *NEW.fixed_starts(2)]
    old = OLD.certificate(OLD.certificate_seed(other), 2) + OLD.evaluation(other % OLD.evaluation_seeds, 2)
    assert not validated & {seed for seed, _ in kept + old}
    assert not validated & {*NEW.training(other, 2).tolist(), *OLD.training(other % OLD.run_seeds, 2).tolist()}


# Version 1: numbers of the code before there was a version.


def test_the_seeds_of_version_1_are_unchanged():
    assert OLD.training(700, 3).tolist() == [700, 701, 702]
    assert OLD.evaluation(1, 3) == [(2**30 + 2**16, 0), (2**30 + 2**16 + 1, 0), (2**30 + 2**16 + 2, 0)]
    assert OLD.fixed_starts(2) == [(2147483648, 0), (2147483649, 0)]
    resets = [OLD.training_reset(*ids) for ids in ((0, 0, 0), (0, 1, 0), (3, 2, 5), (700, 29, 1000))]
    assert resets == [2044266242, 1976665982, 2132514111, 1289853015]
    assert [reset_seed(seed, 0) for seed in (2**30, 2**31 + 5, 2**32 - 1)] == [1073741824, 5, 2147483647]


def test_the_certificate_seeds_of_version_1_are_unchanged():
    about = {"env": POINT, "policy": "a", "family": ("a",), "cost_names": ("hazard",), "limits": (0.0,)}
    plan = CertificatePlan(**about, seeding=1, format=1)
    assert plan.experiment == "58096fe485ceae805fe6dd1f236dfc83affa36cdad5cfe43ff387be46acf42ef"
    assert plan.seed == 3624497124
    assert plan.origins[:2] == [(3624497124, 0), (3624497125, 0)]
    assert CertificatePlan(**about, format=1).experiment != plan.experiment


def test_the_keys_of_version_1_are_unchanged():
    found = keys_for(np.array([0, 1, 700, 2**30, 2**32 - 1]), np.array([0, 3, 1, 0, 99]))
    assert found[:, :2].tolist() == [
        [1797259609, 2579123966],
        [3568232559, 2761185182],
        [3812972262, 898670582],
        [3958190638, 2741650689],
        [4060311075, 1873764664],
    ]


def test_the_layouts_of_version_1_are_unchanged():
    engine = NativeEngine(task(), 4, 1)
    engine.start([RunBatch(ScriptedActor(), (0, 700), seeding=1)])
    assert engine.seeds.tolist() == [0, 1, 700, 701]
    robots = [[1.2608105, 0.8069906], [0.8291411, 1.0072666], [-0.4188502, 1.4788942], [-0.6079885, -1.2842209]]
    goals = [[-0.1083548, 1.1003767], [-1.5148619, 1.4695364], [0.4710428, -0.8805382], [1.5230255, 0.9092488]]
    np.testing.assert_allclose(engine.memory.layout.robot, robots, atol=1e-6)
    np.testing.assert_allclose(engine.memory.layout.goal[:, :2], goals, atol=1e-6)
    np.testing.assert_allclose(engine.memory.layout.heading, [0.0643853, 4.453012, 4.372335, 5.0658188], atol=1e-6)
    engine.start_at(ScriptedActor(), [(2**30, 0), (2**30 + 65536 + 3, 0), (2**31 + 5, 0), (7, 9)])
    listed = [[0.9385624, -1.4969168], [0.141971, -0.8606209], [-1.5155772, 0.284152], [-1.0951788, -0.4746659]]
    np.testing.assert_allclose(engine.memory.layout.robot, listed, atol=1e-6)


# A run keeps its version.


def test_new_configs_have_the_latest_version_and_a_config_without_one_is_of_version_1():
    config = configure(POINT)
    assert config.seeding == config.plain()["seeding"] == LATEST == 2
    plain = {name: value for name, value in config.plain().items() if name != "seeding"}
    old = Config.from_plain(plain)
    assert old.seeding == 1
    assert old.plain() == plain, "so its fingerprint is the one that its checkpoints have"
    assert old.fingerprint != config.fingerprint


def test_a_version_that_does_not_exist_is_refused():
    with pytest.raises(BadSetting, match="seeding=3 must be one of 1, 2"):
        configure(POINT, seeding=3)
    with pytest.raises(BadSetting, match=r"seeding=3 must be one of 1, 2"):
        Config.from_plain(configure(POINT).plain() | {"seeding": 3})


def test_seeds_that_version_1_keeps_for_evaluations_are_free_for_training_in_version_2():
    assert configure(POINT, seed=2**32 - 1).seed == 2**32 - 1
    for wrong in ({"seed": 2**32}, {"seed": 2**30 - 2**20, "seeding": 1}):
        with pytest.raises(BadSetting, match="must be a whole number from 0 to"):
            configure(POINT, **wrong)


@pytest.mark.parametrize("env", [POINT, CART])
@slow("trains three runs")
@pytest.mark.parametrize("seeding", [1, 2])
def test_a_run_that_was_resumed_is_that_run_in_both_versions(tmp_path, env, seeding):
    def train(epochs, name):
        return ascpo.train(env, "trpo", total_steps=epochs * EPOCH, out=tmp_path, name=name, **settings).directory

    settings = QUIET | {"seeding": seeding}
    whole, part = train(3, "whole"), train(1, "part")
    ascpo.resume(part, total_steps=3 * EPOCH, progress=False)
    assert find(part).config().seeding == seeding
    assert find(part).metrics.read_bytes() == find(whole).metrics.read_bytes()
    assert np.array_equal(read_policy(part).theta, read_policy(whole).theta)


class Recording(Cart):
    """Keeps the seeds with which it was reset."""

    seeds: list[int] = []  # noqa: RUF012

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        return super().reset(seed=seed, options=options)


def taken():
    """The seeds since the last look, but for those with which an environment is inspected before it is used."""
    found = [seed for seed in Recording.seeds if seed >= 2**28]
    Recording.seeds.clear()
    return set(found)


def test_training_evaluation_and_certificates_of_your_own_environments_have_distinct_seeds(tmp_path):
    taken()
    env = f"{__name__}:Recording"
    run = ascpo.train(env, "trpo", total_steps=4 * EPOCH, out=tmp_path, **QUIET).directory
    trained = taken()
    evaluate_run(run, 30, env=env)
    evaluated = taken()
    certify([run], Request(probability=0.05, episodes=60), env=env)
    certified = taken()
    assert min(map(len, (trained, evaluated, certified))) >= 20
    for seeds, purpose in ((trained, 1), (evaluated, 4), (certified, 5)):
        assert {seed >> 28 for seed in seeds} == {purpose}
    record = read_records(run / "worst-sampled.safetensors")[0]
    retrace(record, env)
    assert reset_seed(*record.origin) in taken(), "a record is found again"


def test_your_own_environments_of_two_runs_are_reset_with_different_seeds():
    engine, by_run = GymnasiumEngine(Recording, 10), []
    for run in (0, 1):
        taken()
        engine.start([RunBatch(ScriptedActor(), (run,))])
        for _ in range(20):
            engine.cut()
        by_run.append(taken())
    engine.close()
    assert [len(seeds) for seeds in by_run] == [210, 210]
    assert not by_run[0] & by_run[1]
