"""Text from files on a terminal: names in a run may hold characters that move the cursor or hide what stands before."""

import unicodedata


def printable(text: str) -> str:
    """The text with control characters written out, as `\\x1b`. Line breaks stay."""
    return "".join(letter if letter == "\n" or _harmless(letter) else ascii(letter)[1:-1] for letter in text)


def _harmless(letter: str) -> bool:
    """Control characters, invisible ones that change the direction of writing, and halves of characters are not."""
    return unicodedata.category(letter) not in ("Cc", "Cf", "Cs")
