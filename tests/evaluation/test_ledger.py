import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ascpo.evaluation.bound import spent_error
from ascpo.evaluation.ledger import (
    FILE,
    BadLedger,
    Look,
    _chained,
    locked,
    new_ledger,
    read_ledger,
    take_look,
    write_result,
)
from ascpo.runs.links import LinkInRun

ROOT = Path(__file__).parents[2]
RUN = "0123456789abcdef"
LOOK = Look("aa", "e1", "world 1", 0.98, 0.95, 3000)


def take(directory, look, earlier=0):
    """The number of a look, as `certify` gets it."""
    with locked(directory):
        ledger = read_ledger(directory, RUN) or new_ledger(directory, RUN, earlier)
        take_look(ledger, look)
        return ledger.number_for(look)


@pytest.fixture
def three(tmp_path):
    """A list of three looks, the first of which was played."""
    for experiment in ("e1", "e2", "e3"):
        take(tmp_path, replace(LOOK, experiment=experiment))
    write_result(read_ledger(tmp_path, RUN), 1, (3, 2, 1))
    return tmp_path / FILE


def test_looks_are_numbered_in_their_order_and_the_same_look_keeps_its_number(tmp_path):
    looks = [LOOK, replace(LOOK, experiment="e2"), replace(LOOK, world="world 2"), replace(LOOK, policy="bb")]
    assert [take(tmp_path, look) for look in looks] == [1, 2, 3, 4]
    assert [take(tmp_path, look) for look in looks] == [1, 2, 3, 4]
    assert take(tmp_path, replace(LOOK, probability=0.9, confidence=0.9)) == 1
    assert [entry.look for entry in read_ledger(tmp_path, RUN).entries] == looks


def test_certificates_from_before_the_ledger_come_first(tmp_path):
    assert take(tmp_path, LOOK, earlier=2) == 3
    assert take(tmp_path, replace(LOOK, experiment="e2"), earlier=5) == 4, "the list says how many there were"
    assert read_ledger(tmp_path, RUN).entry(2) is None
    assert read_ledger(tmp_path, RUN).entry(3).look == LOOK


def test_the_first_count_of_a_look_stands(three):
    ledger = read_ledger(three.parent, RUN)
    assert [entry.violations for entry in ledger.entries] == [(3, 2, 1), None, None]
    assert write_result(ledger, 1, (3, 2, 1)) == ledger
    with pytest.raises(BadLedger, match=r"Look 1 first counted 3 violations .*certificates\.jsonl.*, and now 2"):
        write_result(ledger, 1, (2, 2, 0))


def test_eight_threads_and_two_processes_that_look_at_once_get_different_numbers(tmp_path):
    """So all looks together spend no more than the error."""
    program = (
        "import sys; from pathlib import Path; from tests.evaluation.test_ledger import LOOK, take, replace\n"
        "print(*(take(Path(sys.argv[1]), replace(LOOK, experiment=f'{sys.argv[2]} {i}')) for i in range(4)))"
    )
    others = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path), str(i)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for i in range(2)
    ]
    with ThreadPoolExecutor(8) as pool:
        looks = [replace(LOOK, experiment=f"thread {i}") for i in range(24)]
        numbers = list(pool.map(lambda look: take(tmp_path, look), looks))
    numbers += [int(number) for other in others for number in other.communicate(timeout=60)[0].split()]
    assert sorted(numbers) == list(range(1, 33))
    assert sum(spent_error(0.05, number) for number in numbers) <= 0.05
    assert len(read_ledger(tmp_path, RUN).entries) == 32


def test_a_changed_character_anywhere_is_noticed(three):
    whole = three.read_bytes()
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        three.write_bytes(bytes(damaged))
        with pytest.raises(BadLedger, match=r"certificates\.jsonl"):
            read_ledger(three.parent, RUN)


def test_a_removed_or_moved_line_is_noticed(three):
    lines = three.read_text().splitlines(keepends=True)
    assert len(lines) == 5
    for place in range(4):
        for changed in (lines[:place] + lines[place + 1 :], [*lines[:place], lines[place + 1], lines[place]]):
            three.write_text("".join(changed))
            with pytest.raises(BadLedger, match="damaged"):
                read_ledger(three.parent, RUN)


@pytest.mark.parametrize("text", ["", "\n", "[]\n", "{}\n", "null\n", "no json\n", "[" * 100_000 + "\n", '{"look": 1'])
def test_a_file_that_is_no_ledger_is_refused(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(BadLedger, match=r"certificates\.jsonl is damaged"):
        read_ledger(tmp_path, RUN)


@pytest.mark.parametrize("line", [{"look": 3}, {"look": 9, "violations": []}, {"look": "2"}, {"look": 2, "policy": ""}])
def test_a_wrong_line_is_refused_even_with_the_right_checksum(tmp_path, line):
    take(tmp_path, LOOK)
    lines = read_ledger(tmp_path, RUN).lines
    with (tmp_path / FILE).open("a") as file:
        file.write(json.dumps(_chained(line, lines)) + "\n")
    with pytest.raises(BadLedger, match="damaged"):
        read_ledger(tmp_path, RUN)


def test_the_ledger_of_another_run_is_refused(three):
    with pytest.raises(BadLedger, match=r"certificates\.jsonl belongs to a run with another config"):
        read_ledger(three.parent, "f" * 16)


def test_a_run_without_looks_has_no_ledger(tmp_path):
    assert read_ledger(tmp_path, RUN) is None
    new_ledger(tmp_path, RUN, 0)
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("name", [FILE, FILE + ".part"])
def test_a_link_in_place_of_the_ledger_is_refused_and_not_followed(tmp_path, name):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LinkInRun, match=name):
        take(tmp_path / "run", LOOK)
    assert not (tmp_path / "elsewhere").exists()
