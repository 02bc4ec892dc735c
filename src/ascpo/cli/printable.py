"""Text from files, safe for a terminal: names in a run may contain characters that move the cursor or hide text."""

import unicodedata


def printable(text: str) -> str:
    """The text with control characters written out, as `\\x1b`. Line breaks stay."""
    return "".join(letter if letter == "\n" or _harmless(letter) else ascii(letter)[1:-1] for letter in text)


def _harmless(letter: str) -> bool:
    """Whether a character is safe. Control characters, invisible direction marks and lone surrogates are not."""
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs")
