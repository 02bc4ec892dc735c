"""Execute the notebooks of the tutorials, and keep their outputs.

Each `docs/tutorials/NAME.py` is a notebook as text. This writes `NAME.ipynb`, with hyphens, beside it. A cell that
fails ends the command, and the old notebook stays.

python docs/execute_notebooks.py [NAME ...]
"""

import os
import re
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent / "tutorials"
_PLOTS = """\
figure.facecolor: none
axes.facecolor: none
savefig.facecolor: none
legend.framealpha: 0
text.color: 808080
axes.labelcolor: 808080
axes.edgecolor: 808080
xtick.color: 808080
ytick.color: 808080
"""
"""Plots without a ground, in a grey that can be read on the light page and on the dark one."""
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_FRAME = re.compile(r"\r*(\x1b\[\?25l|\x1b\[2K)")
"""A line that begins with erasing itself, or with hiding the cursor."""


def execute(source: Path) -> None:
    """Execute one notebook in an empty directory."""
    import jupytext
    import nbformat
    from nbclient import NotebookClient

    notebook = jupytext.read(source)
    with tempfile.TemporaryDirectory() as place:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": place}}).execute()
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = {}
        for output in cell.get("outputs", []):
            output.get("metadata", {}).clear()
            if output.output_type == "stream":
                output.text = printed(output.text)
    nbformat.write(notebook, HERE / f"{source.stem.replace('_', '-')}.ipynb")


def printed(text: str) -> str:
    """What stays on a terminal: no colours, and no frames of a progress bar, each of which erases the one before."""
    kept = [line for line in re.split(r"[\r\n]+(?=\x1b\[2K)|\n", text) if not _FRAME.match(line)]
    return _CONTROL.sub("", "\n".join(kept))


def main(names: list[str]) -> None:
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["NO_COLOR"] = "1"
    with tempfile.TemporaryDirectory() as place:
        plots = Path(place) / "matplotlibrc"
        plots.write_text(_PLOTS)
        os.environ["MATPLOTLIBRC"] = str(plots)
        for source in [HERE / f"{name}.py" for name in names] or sorted(HERE.glob("*.py")):
            began = time.perf_counter()
            execute(source)
            print(f"{source.stem}: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
