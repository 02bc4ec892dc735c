"""The colours of figures, for paper and for a dark screen.

Figures are drawn in the colours of paper. In a page each of these is a variable of CSS, which a dark theme changes.
"""

import re

INK, QUIET, FAINT, EDGE = "#1f2328", "#6a737d", "#e4e7eb", "#b8bec6"
LIMIT = "#c0362c"
"""The colour of limits and other reference lines."""
HUES = ("#1f6fb2", "#d9730d", "#2a8f5b", "#8250b8", "#b8860b", "#c2478f", "#3a9da8", "#6b5b4b")
"""Neighbours also differ in lightness, for readers who do not see every hue."""
_DARK_HUES = ("#6cb2ee", "#f2a25c", "#6fcf9b", "#b996ea", "#e0b84c", "#ea86c0", "#74ccd6", "#b5a48f")
_PARTS = {
    # name: (on paper, on a dark screen)
    "figure": ("#ffffff", "#1d2126"),
    "figure-ink": (INK, "#e4e7ea"),
    "figure-quiet": (QUIET, "#9aa4ae"),
    "figure-faint": (FAINT, "#30363d"),
    "figure-edge": (EDGE, "#4a525b"),
    "figure-limit": (LIMIT, "#f0847a"),
} | {f"hue-{i}": pair for i, pair in enumerate(zip(HUES, _DARK_HUES, strict=True))}
_NAMES = {light: name for name, (light, _) in _PARTS.items()}


def variables(*, dark: bool) -> str:
    """The colours as variables of CSS."""
    return " ".join(f"--{name}: {pair[dark]};" for name, pair in _PARTS.items())


def themed(style: str) -> str:
    """A style of an SVG element, with a variable for each colour that depends on the theme."""
    return re.sub(r"#[0-9a-f]{6}\b", _variable, style)


def _variable(found: re.Match[str]) -> str:
    name = _NAMES.get(found[0])
    return found[0] if name is None else f"var(--{name}, {found[0]})"
