"""Pages of results, from untrained runs."""

import csv
import json
import re

import pytest

from ascpo.cli import paper
from ascpo.paper.experiments import EXPERIMENTS, Training, Variant, experiments
from ascpo.paper.pages import page_of
from ascpo.paper.printed import J_R, M_C, RHO_C, printed_value
from ascpo.sweep.store import failure_file
from tests.paper.helpers import ASCPO, CPO, SCPO, TRPO, store_in, write_run

POINT = "Point-8-Hazard"
Q1 = EXPERIMENTS["q1"]


@pytest.fixture
def store(tmp_path):
    return store_in(tmp_path)


@pytest.fixture
def no_pictures(monkeypatch):
    """They take a second each."""
    for name in ("bars", "boxes", "curves", "starts"):
        monkeypatch.setattr(f"ascpo.paper.contents.draw_{name}", lambda *_: [])


def write_printed(store, suite, variants=(TRPO, CPO, SCPO, ASCPO), seeds=3):
    """Runs whose figures are close to the paper's."""
    for variant in variants:
        for seed in range(seeds):
            J_r, M_c, rho_c = (printed_value(suite, variant.name, m) * (1 + 0.01 * seed) for m in (J_R, M_C, RHO_C))
            write_run(store, Q1, Training(suite, variant, seed), J_r, M_c, rho_c)


def show(capsys, *words):
    paper.main(["show", *map(str, words)])
    return capsys.readouterr().out


@pytest.mark.usefixtures("no_pictures")
def test_a_table_has_our_figures_beside_the_printed_ones_or_a_dash(store, capsys):
    write_printed(store, POINT, [TRPO, ASCPO], seeds=2)
    out = show(capsys, f"q1-{POINT}", "--scale", 0.01, "--out", store.out)
    row = next(line.split() for line in out.splitlines() if line.startswith("ascpo "))
    assert " ".join(row) == "ascpo 2 2.492 ± 0.018 2.480 0.0415 ± 0.0003 0.0413 13.1 ± 0.1 13.0"
    row = next(line.split() for line in out.splitlines() if line.startswith("cpo-cvar "))
    assert " ".join(row) == "cpo-cvar 0 – 2.370 – 0.4479 – 69.0"
    assert "Runs have 0.01 of the paper's steps (60,000 of 6,000,000)" in out
    assert f"20 of 24 runs are missing or unfinished. To train them: ascpo paper run q1-{POINT} --scale 0.01" in out


def test_runs_with_the_papers_figures_reproduce_its_claims(store):
    write_printed(store, POINT)
    page = page_of(experiments(f"q1-{POINT}")[0], store)
    assert len(page.claims) == 7
    assert {one.verdict for one in page.claims} == {"reproduced"}
    assert [picture.suffix for picture in page.pictures] == [".png", ".svg"]
    assert all(picture.stat().st_size > 1000 for picture in page.pictures)


@pytest.mark.usefixtures("no_pictures")
def test_one_seed_decides_nothing(store):
    write_printed(store, POINT, seeds=1)
    page = page_of(experiments(f"q1-{POINT}")[0], store)
    assert {one.verdict for one in page.claims} == {"undecided"}


@pytest.mark.usefixtures("no_pictures")
def test_figures_can_be_means_over_the_last_epochs(tmp_path, capsys):
    store = store_in(tmp_path, scale=0.05)
    run = write_run(store, Q1, Training(POINT, TRPO, 0), J_r=1.0)
    run.metrics.write_text(re.sub(r"(?m)^(9,\d+),1.0", r"\1,2.0", run.metrics.read_text()))
    command = [f"q1-{POINT}", "--scale", 0.05, "--out", store.out]
    assert "trpo 1 2.000 2.460" in " ".join(show(capsys, *command).split())
    assert "trpo 1 1.100 2.460" in " ".join(show(capsys, *command, "--last", 10).split())


@pytest.mark.usefixtures("no_pictures")
def test_tables_that_are_copies_and_seeds_that_failed_are_marked(store, capsys):
    write_printed(store, "Arm3-8-Hazard")
    write_printed(store, "Point-1-Ghost", [SCPO])
    out = show(capsys, "q1", "--scale", 0.01, "--out", store.out)
    assert "Arm3-8-Hazard*" in out
    assert "1.460†" in out
    assert "no claim rests on them" in out
    assert "M_c of ascpo is the lowest in 1 of 1 suites" in out
    assert "reproduced" not in out
    assert page_of(experiments("q1-Arm3-8-Hazard")[0], store).claims == []


@pytest.mark.usefixtures("no_pictures")
def test_overridden_settings_are_named_and_part_of_the_command(store, capsys):
    write_run(store, Q1, Training(POINT, TRPO, 0), num_envs=15, hidden=(8, 8))
    out = show(capsys, f"q1-{POINT}", "--scale", 0.01, "--out", store.out)
    assert "Overridden settings: num_envs=15 instead of 30, hidden=8,8 instead of 64,64." in out
    assert "--set num_envs=15 --set hidden=8,8" in out


def test_failed_runs_are_reported(store, capsys):
    file = failure_file(store.run(Q1, Training(POINT, CPO, 1)))
    file.parent.mkdir(parents=True)
    file.write_text("Epoch 7 made numbers that are not finite.\n")
    out = show(capsys, f"q1-{POINT}", "--scale", 0.01, "--out", store.out)
    assert "Point-8-Hazard-cpo-seed1 failed: Epoch 7 made numbers" in out


@pytest.mark.parametrize(
    ("scale", "length"),
    [(0.5, "0.5 of the paper's steps (3,000,000 of 6,000,000)"), (1.0, "as many steps as in the paper (6,000,000)")],
)
def test_a_page_says_how_long_its_runs_are(tmp_path, scale, length):
    assert page_of(Q1, store_in(tmp_path, scale)).notes[0] == f"Runs have {length}."


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_page_without_runs_says_what_to_do(store, capsys, name):
    out = show(capsys, name, "--scale", 0.01, "--out", store.out)
    assert f"To train them: ascpo paper run {name} --scale 0.01 --out {store.out}" in out


@pytest.mark.usefixtures("no_pictures")
def test_markdown_and_csv_have_the_same_numbers(store, capsys, tmp_path):
    write_printed(store, POINT, [TRPO], seeds=2)
    file = tmp_path / "tables.csv"
    out = show(capsys, f"q1-{POINT}", "--scale", 0.01, "--out", store.out, "--markdown", "--csv", file)
    assert "| trpo | 2 | 2.472 ± 0.017 | 2.460 |" in out
    assert "|---|---:|" in out
    with file.open() as opened:
        row = next(row for row in csv.DictReader(opened) if row["algorithm"] == "trpo")
    assert float(row["J_r"]) == pytest.approx(2.4723)
    assert float(row["printed 10⁴ρ_c"]) == pytest.approx(73.0)
    assert row["table"] == POINT


def test_boxes_are_of_the_episodes_of_all_seeds(store):
    boxes = EXPERIMENTS["boxes"]
    for variant, cost in ((ASCPO, 0.01), (TRPO, 1.0)):
        for seed in range(3):
            run = write_run(store, boxes, Training(POINT, variant, seed))
            costs = [0.0, cost, 2 * cost * (1 + 0.1 * seed)]
            (run.path / "episodes-sampled.csv").write_text("EpCost\n" + "".join(f"{c}\n" for c in costs))
    page = page_of(boxes, store)
    rows = {row[1]: row for row in page.tables[0].rows}
    assert rows["trpo"][2:] == [9, pytest.approx(1.0667, abs=1e-4), 0.0, 0.0, 1.0, 2.0, pytest.approx(2.4), "33.3%"]
    assert [(one.claim, one.verdict) for one in page.claims] == [
        ("cost of ascpo below trpo's, on Point-8-Hazard", "reproduced")
    ]
    assert page.pictures[0].name == "boxes.png"


@pytest.mark.usefixtures("no_pictures")
def test_resources_are_relative_to_trpo_and_compared_with_one_per_cent(store):
    resources = EXPERIMENTS["resources"]
    for name, factor in (("trpo", 1.0), ("ascpo", 1.3), ("ppo-lagrangian", 2.0), ("pascpo", 2.0)):
        for seed in range(3):
            run = write_run(store, resources, Training(POINT, Variant(name, name), seed))
            seconds = 2.0 * factor * (1 + 0.0001 * seed)
            lines = [f"{i},{100.0 if i < 2 else seconds},0.0" for i in range(4)]
            run.timing.write_text("Epoch,TimeRollout,TimePolicy\n" + "\n".join(lines) + "\n")
            (run.path / "resources.json").write_text(json.dumps({"PeakMemory": 5e8, "PeakDeviceMemory": 0}))
    page = page_of(resources, store)
    rows = {row[0]: row for row in page.tables[0].rows}
    assert rows["ascpo"][4][0] == pytest.approx(1.3, rel=1e-3)
    assert rows["scpo"][2:] == [None] * 4
    verdicts = {one.claim.split(",")[0]: one.verdict for one in page.claims}
    assert verdicts == {
        "seconds of ascpo: at most 1% above trpo's": "not reproduced",
        "memory of ascpo: at most 1% above trpo's": "reproduced",
        "seconds of pascpo: at most 1% above ppo-lagrangian's": "reproduced",
        "memory of pascpo: at most 1% above ppo-lagrangian's": "reproduced",
    }


@pytest.mark.usefixtures("no_pictures")
def test_the_histogram_shows_the_largest_and_the_mean_from_every_start(store):
    histogram = EXPERIMENTS["histogram"]
    for variant, cost in ((ASCPO, 0.01), (TRPO, 1.0)):
        run = write_run(store, histogram, Training("Swimmer-1-Hazard", variant, 0))
        costs = {str(start): [0.0, cost * (1 + start)] for start in range(5)}
        (run.path / "starts.json").write_text(json.dumps({"policy": "p", "costs": costs}))
    page = page_of(histogram, store)
    assert page.tables[0].rows[4] == ("ascpo", 4, 2, 0.05, 0.025)
    assert [one.verdict for one in page.claims] == ["reproduced"]


@pytest.mark.parametrize("name", ["monotone", "pascpo", "lagrangian"])
@pytest.mark.usefixtures("no_pictures")
def test_ablations_have_tables_claims_and_curves(store, name):
    experiment = EXPERIMENTS[name]
    better, worse = experiment.variants[:2]
    for variant, M_c in ((better, 0.1), (worse, 0.5)):
        for seed in range(3):
            write_run(store, experiment, Training(POINT, variant, seed), 2.4, M_c * (1 + 0.01 * seed), M_c / 100)
    page = page_of(experiment, store)
    verdicts = {one.claim: one.verdict for one in page.claims}
    assert verdicts[f"M_c of {better.name} below {worse.name}'s, on {POINT}"] == "reproduced"


def test_a_list_shows_finished_and_missing_runs(store, capsys):
    write_printed(store, POINT, seeds=2)
    paper.main(["list", "--scale", "0.01", "--out", str(store.out)])
    out = capsys.readouterr().out
    assert re.search(r"q1 .*19 suites × 12 algorithms × 2 seeds +456 +8 +\d", out)
    assert re.search(r"boxes .* 84 +0 +\d", out)


def test_a_page_names_the_engines_of_its_runs(store):
    pillars, free = Training("Point-8-Pillar", TRPO, 0), Training("Point-1-Hazard", TRPO, 0)
    write_run(store, Q1, pillars)
    run, config = store.run(Q1, free), free.config(0.01, {}, "mjx-jax")
    run.path.mkdir()
    run.config_file.write_text(json.dumps(config.plain()))
    notes = page_of(Q1, store, command="ascpo paper run q1").notes
    assert "Engines: mjx-jax: Point-1-Hazard; native: Point-8-Pillar." in notes
    assert any(note.endswith("ascpo paper run q1 --engine mjx") for note in notes)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["shw"], "Did you mean show"),
        (["run", "q2"], "Did you mean q1"),
        (["run", "q1", "--suites", "Point-9"], "Did you mean Point"),
        (["run", "q1", "--set", "horizn=5"], "Did you mean horizon"),
        (["run", "q1", "--algos", "trpo", "--set", "ascpo.mode=paper", "--seeds", "-1"], "seeds=-1 must"),
        (["run", "all", "--algos", "ppo"], "q1 has no algorithm 'ppo'. Did you mean pcpo"),
        (["show", "q1", "--scale", "0"], "scale=0.0 must be a number above 0"),
    ],
)
def test_a_mistake_gets_an_error_that_says_what_is_right(typed, answer, tmp_path):
    from ascpo.runs.errors import MENDABLE

    with pytest.raises(MENDABLE, match=answer):
        paper.main([*typed, *([] if len(typed) == 1 else ["--out", str(tmp_path / "out")])])
    assert not (tmp_path / "out").exists()
