"""Trainings in companies: all that can share an engine at once, each as if it were alone."""

import shutil
from collections.abc import Sequence

import pytest
from rich.console import Console

from ascpo.cli import paper
from ascpo.paper.experiments import EXPERIMENTS
from ascpo.paper.plan import Wish, plans
from ascpo.runs.stopping import Stopped
from ascpo.sweep.batches import in_companies
from ascpo.sweep.estimate import Pace
from ascpo.sweep.jobs import Here, carry_out
from ascpo.sweep.progress import Board
from ascpo.sweep.store import Shelf, epochs_done
from tests.paper.helpers import write_run

EPOCHS = 2
TINY = {
    "num_envs": 2,
    "horizon": 20,
    "hidden": (8, 8),
    "value_fit.iterations": 4,
    "value_fit.batch_size": 32,
    "cost_fit.iterations": 4,
    "cost_fit.batch_size": 32,
    "cost_fit.window": 3,
}
SCALE = EPOCHS * 40 / 6e6
SUITE = "Point-1-Hazard"
ALGOS = ("trpo", "scpo")


def orders_in(path, suites=(SUITE,), algos=ALGOS, seeds=(0, 1), name="q1", **more):
    wish = Wish(name, Shelf(path, SCALE), suites, algos, seeds, TINY, checkpoint_every=0.0, **more)
    (plan,) = plans(wish)
    return plan.orders


def in_their_own_words(orders):
    return [order.words.removeprefix(f"{SUITE}-") for order in orders]


class Watching:
    """A watcher that remembers."""

    def __init__(self):
        self.companies, self.begun, self.troubles, self.looks = [], [], [], 0

    def begin(self, order):
        self.begun += in_their_own_words([order])

    def begin_together(self, orders):
        self.companies.append(in_their_own_words(orders))

    def end(self, done):
        pass

    def look(self, running):
        pass

    def look_together(self, orders):
        self.looks += 1

    def end_together(self, orders, seconds):
        pass

    def fall_apart(self, orders, trouble):
        self.troubles.append((len(orders), trouble))


class Impatient(Watching):
    """Asks for an end after the first epoch."""

    def look_together(self, orders):
        raise Stopped(15)


class Trainer:
    """Trains nothing, and writes what a run would have left. One of `bad` fails, and its company with it."""

    def __init__(self, shelf, bad: Sequence[str] = ()):
        self.shelf, self.bad = shelf, bad

    def __call__(self, order):
        if not order.is_trained():
            self._train(order)

    def train_together(self, orders, look):
        if any(words in self.bad for words in in_their_own_words(orders)):
            raise RuntimeError("Epoch 1 made numbers that are not finite.")
        for order in orders:
            self._train(order)

    def _train(self, order):
        if in_their_own_words([order])[0] in self.bad:
            raise RuntimeError("Epoch 1 made numbers that are not finite.")
        (training,) = (t for t in EXPERIMENTS["q1"].trainings(seeds=range(8)) if t.name == order.words)
        write_run(self.shelf, EXPERIMENTS["q1"], training, **TINY)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The metrics of runs that were trained one by one, by name."""
    orders = orders_in(tmp_path_factory.mktemp("alone"))
    for order in orders:
        carry_out(order)
    return {order.words: order.run.metrics.read_bytes() for order in orders}


def metrics(orders):
    return {order.words: order.run.metrics.read_bytes() for order in orders}


def test_two_algorithms_and_two_seeds_together_are_to_the_byte_what_they_are_one_by_one(alone, tmp_path):
    orders, watcher = orders_in(tmp_path), Watching()
    done = in_companies(orders, Here(), watcher)
    assert [one.how for one in done] == ["trained"] * 4
    assert watcher.companies == [["trpo-seed0", "trpo-seed1", "scpo-seed0", "scpo-seed1"]]
    assert (watcher.begun, watcher.looks) == ([], EPOCHS)
    assert metrics(orders) == alone
    assert {one.how for one in in_companies(orders, Here(), Watching())} == {"there"}


def test_a_company_that_was_stopped_goes_on_and_takes_along_what_was_not_there(alone, tmp_path):
    three, four = orders_in(tmp_path)[:3], orders_in(tmp_path)
    with pytest.raises(Stopped):
        in_companies(three, Here(), Impatient())
    assert [epochs_done(order.run) for order in four] == [1, 1, 1, 0]
    watcher = Watching()
    assert [one.how for one in in_companies(four, Here(), watcher)] == ["trained"] * 4
    assert [len(company) for company in watcher.companies] == [4]
    assert metrics(four) == alone


def test_a_company_of_which_some_were_saved_when_it_was_killed_goes_on(alone, tmp_path):
    orders, watcher = orders_in(tmp_path), Watching()
    with pytest.raises(Stopped):
        in_companies(orders, Here(), Impatient())
    shutil.rmtree(orders[2].run.checkpoints / "1")
    assert [one.how for one in in_companies(orders, Here(), watcher)] == ["trained"] * 4
    assert [len(company) for company in watcher.companies] == [4]
    assert metrics(orders) == alone


def test_a_company_with_one_run_already_done_trains_only_the_others(alone, tmp_path):
    orders, watcher = orders_in(tmp_path), Watching()
    carry_out(orders[1])
    written = orders[1].run.metrics.stat().st_mtime_ns
    done = in_companies(orders, Here(), watcher)
    assert sorted(one.how for one in done) == ["there", "trained", "trained", "trained"]
    assert watcher.companies == [["trpo-seed0", "scpo-seed0", "scpo-seed1"]]
    assert orders[1].run.metrics.stat().st_mtime_ns == written
    assert metrics(orders) == alone


def test_a_run_that_fails_costs_its_company_an_epoch_and_not_the_others(alone, tmp_path, monkeypatch):
    from ascpo.training import train

    check = train._check

    def bad_for_one(row, finite):
        """In its second epoch, and known by its numbers."""
        check(row, finite)
        if row["Epoch"] == 1 and f"{row['EpRet']:.6g}" == bad_return:
            raise train.Broken("Epoch 1 made numbers that are not finite.")

    header, *_, last = alone[f"{SUITE}-scpo-seed0"].decode().splitlines()
    bad_return = last.split(",")[header.split(",").index("EpRet")]
    monkeypatch.setattr(train, "_check", bad_for_one)
    orders, watcher = orders_in(tmp_path), Watching()
    done = in_companies(orders, Here(), watcher)
    assert {one.order.words: one.how for one in done} == {
        f"{SUITE}-trpo-seed0": "trained",
        f"{SUITE}-trpo-seed1": "trained",
        f"{SUITE}-scpo-seed0": "failed",
        f"{SUITE}-scpo-seed1": "trained",
    }
    assert watcher.companies == [
        ["trpo-seed0", "trpo-seed1", "scpo-seed0", "scpo-seed1"],
        ["trpo-seed0", "trpo-seed1"],
        ["scpo-seed0", "scpo-seed1"],
    ]
    assert watcher.begun == ["scpo-seed0", "scpo-seed1"]
    good = [order for order in orders if "scpo-seed0" not in order.words]
    assert metrics(good) == {order.words: alone[order.words] for order in good}
    assert epochs_done(orders[2].run) == 1
    assert "not finite" in orders[2].trouble.read_text()


def test_a_bad_run_is_found_by_halves(tmp_path):
    orders, watcher = orders_in(tmp_path, seeds=range(4)), Watching()
    done = in_companies(orders, Trainer(Shelf(tmp_path, SCALE), ["scpo-seed1"]), watcher)
    assert [one.order.words for one in done if one.how == "failed"] == [f"{SUITE}-scpo-seed1"]
    assert [len(company) for company in watcher.companies] == [8, 4, 4, 2, 2]
    assert [size for size, _ in watcher.troubles] == [8, 4, 2]
    assert watcher.begun == ["scpo-seed0", "scpo-seed1"]


def test_runs_of_another_suite_are_another_company(tmp_path):
    orders, watcher = orders_in(tmp_path, (SUITE, "Point-4-Hazard"), seeds=(0,)), Watching()
    in_companies(orders, Trainer(Shelf(tmp_path, SCALE)), watcher)
    assert watcher.companies == [
        ["trpo-seed0", "scpo-seed0"],
        ["Point-4-Hazard-trpo-seed0", "Point-4-Hazard-scpo-seed0"],
    ]


def test_what_another_process_is_at_is_left_out_and_comes_last(tmp_path):
    orders, watcher, shelf = orders_in(tmp_path), Watching(), Shelf(tmp_path, SCALE)
    held = orders[1].run
    held.path.mkdir(parents=True)

    class LettingGo(Trainer):
        def train_together(self, orders, look):
            super().train_together(orders, look)
            lock.__exit__(None, None, None)

    lock = held.locked()
    lock.__enter__()
    done = in_companies(orders, LettingGo(shelf), watcher)
    assert watcher.companies == [["trpo-seed0", "scpo-seed0", "scpo-seed1"]]
    assert watcher.begun == ["trpo-seed1"]
    assert [one.how for one in done] == ["trained"] * 4


def test_the_board_tells_of_a_company_in_one_line(tmp_path, capsys):
    orders = orders_in(tmp_path, seeds=(0,))
    board = Board(orders, Pace(tmp_path), console=Console(highlight=False, soft_wrap=True))
    in_companies(orders, Trainer(Shelf(tmp_path, SCALE), ["scpo-seed0"]), board)
    out = capsys.readouterr().out
    assert "trained in" not in out
    assert f"[1 to 2 of 2] 2 runs of {SUITE} together: 2 epochs; " in out
    assert f"[1 to 2 of 2] 2 runs of {SUITE} together: failed: Epoch 1 made numbers that are not finite; now in" in out
    assert f"[1 of 2] {SUITE}-trpo-seed0: done in 0 s" in out


def test_the_command_line_trains_together_or_in_processes_and_not_both(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("ascpo.paper.plan.Here", lambda *_, **__: Trainer(Shelf(tmp_path, SCALE)))
    words = ["run", "q1", "--suites", SUITE, "--algos", *ALGOS, "--scale", str(SCALE), "--out", str(tmp_path)]
    words += [f"--set={name}={','.join(map(str, v)) if isinstance(v, tuple) else v}" for name, v in TINY.items()]
    paper.main([*words, "--together"])
    out = capsys.readouterr().out
    assert f"[1 to 4 of 4] 4 runs of {SUITE} together: 2 epochs; " in out
    assert f"[1 to 4 of 4] 4 runs of {SUITE} together: trained in 0 s; 0 s left in all" in out
    assert "4 trained, 0 were there already, 0 failed." in out
    with pytest.raises(SystemExit):
        paper.main([*words, "--together", "--jobs", "2"])
    assert "Use one of them" in " ".join(capsys.readouterr().err.split())
