"""Check the built site as a visitor meets it: links and anchors exist, and every page is two clicks from the start.

python docs/check_site.py [DIRECTORY]
"""

import posixpath
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parents[1] / "build" / "site"
CLICKS = 2


class _Document(HTMLParser):
    """What a page links to and shows, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for value in (given.get("id"), given.get("name")) if value}
        self.links |= {value for value in (given.get("href"), given.get("src")) if value}


def broken_links(site: Path) -> list[str]:
    """Every link to a file or an anchor that the site does not have."""
    pages = _pages(site)
    out = []
    for name, page in pages.items():
        for link in sorted(page.links):
            target, anchor = _resolved(name, link)
            if target is None:
                continue
            exists = (site / target).is_file()
            if not exists or (anchor and target in pages and anchor not in pages[target].anchors):
                out.append(f"{name}: {link}")
    return out


def far_pages(site: Path, clicks: int = CLICKS) -> list[str]:
    """The pages that need more clicks than this from the start page."""
    pages = _pages(site)
    reached = {"index.html"}
    for _ in range(clicks):
        reached |= {target for name in reached & pages.keys() for target in _targets(name, pages[name].links)}
    return sorted(pages.keys() - reached - {"404.html"})


def _pages(site: Path) -> dict[str, _Document]:
    files = [path.relative_to(site) for path in site.rglob("*.html") if "files" not in path.relative_to(site).parts]
    return {name.as_posix(): _Document((site / name).read_text()) for name in files if name.name != "404.html"}


def _targets(name: str, links: Iterable[str]) -> set[str]:
    return {target for link in links if (target := _resolved(name, link)[0])}


def _resolved(name: str, link: str) -> tuple[str | None, str]:
    """The file of the site that a link on a page leads to, and its anchor. None: it leads elsewhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or link.startswith(("/", "data:")):
        return None, ""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
    if parts.path.endswith("/") or path == ".":
        path = posixpath.normpath(posixpath.join(path, "index.html"))
    return path, unquote(parts.fragment)


def main(site: Path) -> None:
    wrong = [f"Broken link on {one}" for one in broken_links(site)]
    wrong += [f"More than {CLICKS} clicks away: {one}" for one in far_pages(site)]
    print("\n".join(wrong) if wrong else f"{len(_pages(site))} pages: all links lead somewhere, all within two clicks.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else SITE)
