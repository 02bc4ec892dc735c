import pytest

from ascpo.cli import main


@pytest.fixture
def ascpo(monkeypatch, capsys):
    """Run a command, and return what it printed."""

    def run(*words):
        monkeypatch.setattr("sys.argv", ["ascpo", *map(str, words)])
        main.main()
        return capsys.readouterr().out

    return run
