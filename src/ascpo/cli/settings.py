"""`ascpo train --show`: print the settings of a training instead of training."""

from rich.console import Console
from rich.table import Table

from ascpo.runs.config import Config
from ascpo.runs.presets import MEANINGS, changes, replacements, shown
from ascpo.runs.serialization import flat, to_plain

_FILE_WIDTH = 160
"""The width of the table if it goes to a file."""


def show_settings(config: Config) -> None:
    """Print a preset's differences from our defaults, each with its reason; without a preset, all settings."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    if config.preset is None:
        _in_force(table, config)
    else:
        _of_preset(table, config)
        console.print(f"{config.algo} with the preset {config.preset}, {MEANINGS[config.preset]}.", markup=False)
    console.print(table, markup=False)
    for sentence in replacements(config):
        console.print(f"Note: {sentence}", markup=False)


def _of_preset(table: Table, config: Config) -> None:
    for title in ("setting", "ours", str(config.preset)):
        table.add_column(title, no_wrap=True)
    table.add_column("why")
    for change in changes(config):
        table.add_row(change.name, shown(change.default), shown(change.value), change.reason)


def _in_force(table: Table, config: Config) -> None:
    for title in ("setting", "in force", "default"):
        table.add_column(title, no_wrap=True)
    defaults = {change.name: change.default for change in changes(config)}
    for group in (config.settings, config.method):
        for name, value in flat(to_plain(group)).items():
            table.add_row(name, shown(value), shown(defaults[name]) if name in defaults else "the same")
