import signal
import threading

import pytest

from ascpo.runs.stopping import Stopped, Stopping


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_work_is_interrupted_at_once(number):
    reached = []

    def work():
        with Stopping() as stopping, stopping.work():
            signal.raise_signal(number)
            reached.append("the end of the work")

    with pytest.raises(Stopped) as stopped:
        work()
    assert stopped.value.number == number
    assert not reached


def test_files_are_completed_and_the_next_work_does_not_begin():
    reached = []

    def work():
        with Stopping() as stopping:
            with stopping.work():
                pass
            signal.raise_signal(signal.SIGTERM)
            reached.append("the end of the files")
            with stopping.work():
                reached.append("the next work")

    with pytest.raises(Stopped, match="SIGTERM"):
        work()
    assert reached == ["the end of the files"]


def test_a_signal_after_the_last_work_is_not_lost():
    """A sweep would begin its next training."""
    reached = []

    def work():
        with Stopping() as stopping:
            with stopping.work():
                pass
            signal.raise_signal(signal.SIGTERM)
            reached.append("the end of the files")

    with pytest.raises(Stopped, match="SIGTERM"):
        work()
    assert reached


def test_signal_handlers_are_restored():
    before = signal.getsignal(signal.SIGTERM)
    with Stopping():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_training_in_another_thread_leaves_signals_alone():
    failures = []

    def work():
        try:
            with Stopping() as stopping, stopping.work():
                pass
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures
