import io
from pathlib import Path

from rich.console import Console

from ascpo.runs.callbacks.callback import EpochRecord, TrainingPlan
from ascpo.runs.callbacks.display import Display
from ascpo.runs.config import configure

ROW = {"EpRet": 1.5, "EpCost": 1.25, "EpMaxCost": 0.25, "WorstCost": 0.75, "SafeRate": 0.9, "TimeoutRate": 0.1}
TIMING = {"TimeRollout": 2.0, "TimePolicy": 1.0, "StepsPerSecond": 10_000.0}


def shown(terminal, epochs=3, done=0, env="Point-1-Hazard", total_steps=300_000, row=None, **plan):
    out = io.StringIO()
    display = Display(Console(file=out, force_terminal=terminal, width=100, highlight=False, color_system=None))
    config = configure(env, total_steps=total_steps)
    display.on_training_start(
        TrainingPlan(config, "runs/[red]here", done, "the mean of something", {"hazard": 0.5}, **plan)
    )
    for epoch in range(done, done + epochs):
        display.on_epoch_end(
            [EpochRecord(Path("run"), ROW | (row or {}) | {"Epoch": epoch}, TIMING | {"Epoch": epoch})]
        )
    display.on_training_end()
    return out.getvalue()


def test_the_first_lines_name_the_length_the_target_and_the_method():
    said = shown(terminal=False)
    assert "300,000 steps: 10 epochs of 30 × 1000" in said
    assert "(hazard at or under 0.5) in 98 % of all episodes" in " ".join(said.split())
    assert "Method: ascpo the mean of something" in said
    assert "runs/[red]here" in said, "a path is no markup"


def test_the_displayed_length_is_that_of_whole_epochs():
    assert "30,000 steps: one epoch of 30 × 1000" in shown(terminal=False, epochs=1, total_steps=100)


def test_notes_about_the_environment_are_shown():
    assert "Note: No time limit was found." in shown(terminal=False, notes=("No time limit was found.",))


def test_without_a_terminal_an_epoch_is_a_line():
    line = shown(terminal=False).splitlines()[-1]
    # Epochs take three seconds; seven are left.
    expected = "3/10 EpRet 1.500 EpCost 1.2500 EpMaxCost 0.2500 WorstCost 0.750 SafeRate 90.0% TimeoutRate 10.0% "
    assert " ".join(line.split()) == expected + "steps/s 10,000 0:21 left"


def test_episodes_that_always_end_by_time_are_not_shown_as_failures():
    own = {"env": "tests/Cart-v0", "row": {"TimeoutRate": 1.0}}
    assert "TimeoutRate always" in shown(terminal=False, **own)
    assert "TimeoutRate 10.0%" in shown(terminal=False, env="tests/Cart-v0")
    assert "TimeoutRate 100.0%" in shown(terminal=False, row={"TimeoutRate": 1.0}), "in a suite they are"


def test_on_a_terminal_the_last_epochs_are_a_table_above_a_bar():
    said = shown(terminal=True, epochs=3)
    for word in ("WorstCost", "SafeRate", "90.0%", "3/10", "0:21 left"):
        assert word in said


def test_a_resumed_run_counts_earlier_epochs():
    said = shown(terminal=False, done=4)
    assert "Continuing after epoch 4" in said
    assert "7/10" in said
