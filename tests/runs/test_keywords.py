"""The keyword settings of `ascpo.train` have types, which agree with the dataclasses of the settings."""

import subprocess
import sys
from pathlib import Path

from ascpo.algorithms import ALGORITHMS
from ascpo.runs.keywords import OptionKeywords, SettingKeywords, TrainKeywords
from ascpo.runs.options import Options
from ascpo.training.settings import Settings

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))


def test_the_keyword_types_are_up_to_date_with_the_dataclasses():
    import keywords

    assert keywords.FILE.read_text() == keywords.keywords_file(), "run make docs"


def test_every_setting_of_every_algorithm_is_a_keyword():
    kinds = [Settings, *ALGORITHMS.values()]
    assert set(SettingKeywords.__annotations__) == {name for kind in kinds for name in kind.__dataclass_fields__}
    assert set(OptionKeywords.__annotations__) == set(Options.__dataclass_fields__)
    assert {"mode", "num_envs", "tensorboard", "final_policy"} <= set(TrainKeywords.__annotations__)


WRONG = {
    "horizn=3": "horizn",
    'mode="papr"': "papr",
    'trust_region={"delta": "x"}': "trust_region",
    "progress=3": "progress",
}
RIGHT = (
    'limits=[0.0, 0.1], hidden=(8, 8), mode="paper", trust_region={"delta": 0.1}, callbacks=[EarlyStopping()], '
    'final_policy="last"'
)


def test_a_type_checker_refuses_what_a_training_would_refuse(tmp_path):
    lines = ["import ascpo", "from ascpo.callbacks import EarlyStopping", f'ascpo.train("Point-8-Hazard", {RIGHT})']
    lines += [f'ascpo.train("Point-8-Hazard", {wrong})' for wrong in WRONG]
    lines += ['ascpo.compare("runs")._repr_html_()', 'ascpo.report("runs").page']
    file = tmp_path / "typed.py"
    file.write_text("\n".join(lines) + "\n")
    # Without a configuration, which a directory above may have, pyrefly checks next to nothing.
    command = [sys.executable, "-m", "pyrefly", "check", "--preset", "default"]
    command += ["--python-interpreter-path", sys.executable]
    command += ["--output-format", "min-text", "--color", "never", str(file)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False).stdout
    errors = [line for line in said.splitlines() if line.startswith("ERROR")]
    assert len(errors) == len(WRONG), said
    for number, name in enumerate(WRONG.values(), start=4):
        assert any(f"typed.py:{number}:" in error and name in error for error in errors), (name, said)
