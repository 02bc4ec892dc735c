"""Symbols with subscripts: `$M_c$` in a label becomes an italic M with a small c."""

import re

from markupsafe import Markup, escape

_SYMBOL = re.compile(r"\$([^$_]+)(?:_([^$]+))?\$")


def typeset(label: str) -> Markup:
    """A label in HTML. Matplotlib typesets the same label in figures."""
    out, end = Markup(), 0
    for found in _SYMBOL.finditer(label):
        letter, index = found[1], found[2]
        low = Markup("<sub>{}</sub>").format(index) if index else Markup()
        out += escape(label[end : found.start()]) + Markup("<i>{}</i>").format(letter) + low
        end = found.end()
    return out + escape(label[end:])
