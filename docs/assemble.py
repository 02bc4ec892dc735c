"""Put the pages of the site together in build/pages, from where a site generator takes them.

Pages lie in docs/, elsewhere in the repository, or are executed notebooks. Their links are as in the repository, so
that they work there too. Here they are changed to where the site has the page or the file.

python docs/assemble.py
"""

import posixpath
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "pages"
OUTSIDE = {
    "benchmarks/RESULTS.md": "measurements.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages from elsewhere in the repository, and what the site calls them."""
COPIED = {".md", ".png", ".webp", ".svg", ".css"}
_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def sources() -> dict[str, str]:
    """Every page of the site: its path in the repository, and its path in the site."""
    inside = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    notebooks = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.ipynb"))
    return (
        {f"docs/{name}": name for name in inside}
        | {f"docs/tutorials/{name}.ipynb": f"tutorials/{name}.md" for name in notebooks}
        | OUTSIDE
    )


def assemble(pages: Path = PAGES) -> None:
    """Write all pages, pictures and attachments anew."""
    shutil.rmtree(pages, ignore_errors=True)
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in COPIED - {".md"}:
            _copy(path, pages / path.relative_to(ROOT / "docs"))
    known = sources()
    for place, site in known.items():
        text, pictures = _read(ROOT / place)
        text, attachments = relinked(text, place, known)
        for name, content in pictures.items():
            _write(pages / posixpath.dirname(site) / name, content)
        for attached in attachments:
            _copy(ROOT / attached, pages / "files" / attached)
        _write(pages / site, text.encode())


def relinked(text: str, place: str, known: dict[str, str]) -> tuple[str, set[str]]:
    """A page with links as the site needs them, and the files outside docs/ that it links to."""
    site, attachments = known[place], set[str]()

    def changed(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), found[2]))
        if target in known:
            there = known[target]
        elif target.startswith("docs/"):
            there = target.removeprefix("docs/")
        elif (ROOT / target).is_file():
            attachments.add(target)
            there = f"files/{target}"
        else:
            return found[0]
        return found[1] + posixpath.relpath(there, posixpath.dirname(site) or ".") + found[3]

    return _LINK.sub(changed, text), attachments


def _read(path: Path) -> tuple[str, dict[str, bytes]]:
    """A page's text, and the pictures that a notebook holds."""
    if path.suffix != ".ipynb":
        return path.read_text(), {}
    import nbformat
    from nbconvert import MarkdownExporter

    notebook = nbformat.read(path, as_version=4)
    text, made = MarkdownExporter().from_notebook_node(notebook, resources={"unique_key": path.stem})
    return text, made.get("outputs", {})


def _copy(source: Path, target: Path) -> None:
    _write(target, source.read_bytes())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    assemble()
