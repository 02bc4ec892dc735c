"""Sweeps, with trainings that take no time: what is missing, stopped, finished, broken, or in other hands."""

from pathlib import Path

import filelock
import pytest

from ascpo.paper.experiments import EXPERIMENTS, Training
from ascpo.runs.stopping import Stopped
from ascpo.sweep.executors import Starter, log_of, one_by_one, side_by_side
from ascpo.sweep.jobs import Order
from tests.paper.helpers import ASCPO, CPO, SCPO, TRPO, order_for, shelf_in, write_run

Q1 = EXPERIMENTS["q1"]


class Silence:
    """A watcher that remembers."""

    def __init__(self):
        self.begun, self.ended = [], []

    def begin(self, order):
        self.begun.append(order.words)

    def end(self, done):
        self.ended.append((done.order.words, done.how))

    def look(self, running):
        pass


@pytest.fixture
def shelf(tmp_path):
    return shelf_in(tmp_path)


def training(variant, seed=0):
    return Training("Point-1-Hazard", variant, seed)


def orders(shelf, *variants):
    return [order_for(shelf, Q1, training(variant)) for variant in variants]


@pytest.fixture
def train(shelf):
    """Finishes a run, or fails as it is told to."""

    def finish(order):
        if "cpo-seed0" in order.words and "scpo" not in order.words:
            raise RuntimeError("Epoch 7 made numbers that are not finite.")
        (variant,) = (v for v in (TRPO, CPO, SCPO, ASCPO) if f"-{v.name}-seed" in order.words)
        write_run(shelf, Q1, training(variant))

    return finish


def test_what_is_missing_is_trained_what_was_stopped_goes_on_what_is_finished_stays(shelf, train):
    write_run(shelf, Q1, training(TRPO))
    write_run(shelf, Q1, training(SCPO), epochs=1)
    watcher = Silence()
    done = one_by_one(orders(shelf, TRPO, SCPO, ASCPO), train, watcher)
    assert [one.how for one in done] == ["there", "trained", "trained"]
    assert watcher.begun == ["Point-1-Hazard-scpo-seed0", "Point-1-Hazard-ascpo-seed0"]
    assert {one.how for one in one_by_one(orders(shelf, TRPO, SCPO, ASCPO), train, Silence())} == {"there"}


def test_a_training_that_fails_is_reported_and_the_others_go_on(shelf, train):
    done = one_by_one(orders(shelf, TRPO, CPO, SCPO), train, Silence())
    assert [one.how for one in done] == ["trained", "failed", "trained"]
    assert "not finite" in done[1].trouble
    assert "not finite" in done[1].order.trouble.read_text()


def test_what_went_wrong_is_forgotten_when_it_goes_right(shelf, train):
    (order,) = orders(shelf, SCPO)
    order.trouble.parent.mkdir(parents=True)
    order.trouble.write_text("The disk was full.\n")
    one_by_one([order], train, Silence())
    assert not order.trouble.exists()


def test_a_run_with_other_settings_is_neither_kept_nor_overwritten(shelf, train):
    run = write_run(shelf, Q1, training(TRPO), margin=0.25)
    before = run.metrics.read_bytes()
    (done,) = one_by_one(orders(shelf, TRPO), train, Silence())
    assert done.how == "failed"
    assert "was trained with margin=0.25, and 0.0 is wanted now. Choose another --out" in done.trouble
    assert run.metrics.read_bytes() == before


def test_a_stop_ends_the_sweep_at_once(shelf):
    def stopped(order):
        raise Stopped(15)

    watcher = Silence()
    with pytest.raises(Stopped):
        one_by_one(orders(shelf, TRPO, SCPO), stopped, watcher)
    assert (len(watcher.begun), watcher.ended) == (1, [])


@pytest.fixture
def held(shelf):
    """A run that another process is at."""
    run = write_run(shelf, Q1, training(TRPO), epochs=1)
    # A thread's own lock object stands for another process: locks are per open file.
    lock = filelock.FileLock(run.path / ".lock")
    lock.acquire()
    yield lock
    lock.release(force=True)


def test_what_another_process_is_at_comes_last(shelf, train, held):
    def train_and_let_go(order):
        train(order)
        held.release(force=True)

    done = one_by_one(orders(shelf, TRPO, SCPO), train_and_let_go, Silence())
    assert [one.order.words for one in done] == ["Point-1-Hazard-scpo-seed0", "Point-1-Hazard-trpo-seed0"]
    assert [one.how for one in done] == ["trained", "trained"]


def test_what_another_process_does_not_let_go_of_is_reported(shelf, train, held):
    done = one_by_one(orders(shelf, TRPO, SCPO), train, Silence(), patience=0.0)
    assert [(one.how, "another process" in one.trouble) for one in done] == [("trained", False), ("failed", True)]


class Fake:
    """A process that ends when it is told to."""

    alive: "list[Fake]" = []  # noqa: RUF012
    most = 0

    def __init__(self, order, place, train, code=0):
        self.order, self.place, self.train, self.code = order, place, train, code
        self.looks, self.terminated = 0, False
        Fake.alive.append(self)
        Fake.most = max(Fake.most, len(Fake.alive))

    def poll(self):
        self.looks += 1
        if self.looks < 3:
            return None
        Fake.alive.remove(self)
        if self.code == 0:
            self.train(self.order)
        return self.code

    def terminate(self):
        self.terminated = True

    def wait(self):
        return -15


@pytest.fixture(autouse=True)
def no_processes():
    Fake.alive, Fake.most = [], 0


def test_as_many_as_asked_for_run_at_once_each_in_its_own_place(shelf, train):
    places = []

    def start(order, place):
        assert place not in [fake.place for fake in Fake.alive]
        places.append(place)
        return Fake(order, place, train)

    done = side_by_side(orders(shelf, TRPO, SCPO, ASCPO), start, Silence(), jobs=2, pause=0.0)
    assert [one.how for one in done] == ["trained"] * 3
    assert Fake.most == 2
    assert set(places) == {0, 1}


def test_a_process_that_fails_tells_why_in_its_log(shelf, train):
    def start(order, place):
        failing = "trpo" in order.words
        log_of(order).parent.mkdir(parents=True, exist_ok=True)
        log_of(order).write_text("a warning\nEpoch 7 made numbers that are not finite.\n")
        return Fake(order, place, train, code=1 if failing else 0)

    done = side_by_side(orders(shelf, TRPO, SCPO), start, Silence(), jobs=2, pause=0.0)
    assert {one.order.words.split("-")[3]: (one.how, one.trouble) for one in done} == {
        "trpo": ("failed", "Epoch 7 made numbers that are not finite."),
        "scpo": ("trained", ""),
    }


def test_a_stop_reaches_every_process_and_waits_for_it(shelf, train):
    waited = []

    class Waited(Fake):
        def wait(self):
            assert self.terminated
            waited.append(self.place)
            return 143

    class Impatient(Silence):
        def look(self, running):
            raise Stopped(2)

    with pytest.raises(Stopped):
        side_by_side(orders(shelf, TRPO, SCPO), lambda o, p: Waited(o, p, train), Impatient(), jobs=2, pause=0.0)
    assert sorted(waited) == [0, 1]


def test_a_process_is_told_its_share_of_the_machine(shelf, monkeypatch):
    started = []
    monkeypatch.setattr("ascpo.sweep.executors._cores", lambda: [0, 2, 4, 6])
    monkeypatch.setattr("subprocess.Popen", lambda words, **more: started.append((words, more)))
    start, (order,) = Starter(jobs=2), orders(shelf, TRPO)
    start(order, 0), start(order, 1)
    assert [words[-2:] for words, _ in started] == [["0,2", "2"], ["4,6", "2"]]
    assert started[0][1]["env"]["OMP_NUM_THREADS"] == "2"
    assert Order.from_json(started[0][0][-3]) == order


def test_an_order_survives_being_written_down(shelf):
    (order,) = orders(shelf, ASCPO)
    again = Order.from_json(order.to_json())
    assert again == order
    assert isinstance(again.directory, Path)
