"""Names of files and programs come from outside: make them harmless to show, without losing a byte.

A name is bytes. What is printable Unicode stays; every other byte or character is spelled as an
escape (`\\xNN` for a byte that is not UTF-8 and for control characters, `\\uNNNN` for invisible
formatting such as the characters that turn the direction of writing). A backslash is doubled, so
that two names never look alike.
"""

import unicodedata

# Control, format (direction overrides, zero width), surrogate, private, unassigned, line and
# paragraph separators.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

ELLIPSIS = "…"


def printable(name: bytes | str) -> str:
    """The whole name, safe in a terminal, in JSON and (after HTML escaping) in a page."""
    text = name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else name
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_escape, text))


def _escape(character: str) -> str:
    code = ord(character)
    if character == "\\":
        return "\\\\"
    if 0xDC80 <= code <= 0xDCFF:  # how "surrogateescape" carries a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return character
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def elided(text: str, width: int) -> str:
    """At most `width` characters, the middle left out: a path's beginning and end tell most."""
    if len(text) <= width:
        return text
    head = max(1, (width - 1) // 3)
    return text[:head] + ELLIPSIS + text[len(text) - (width - 1 - head) :]


def shown_path(path: object) -> str:
    """A path in a sentence: printable, and not longer than a sentence bears."""
    return elided(printable(str(path)), 200)


def base_name(path: bytes | str) -> str:
    """The last component of a path, printable; the whole path where that is empty."""
    text = path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else path
    return printable(text.rstrip("/").rpartition("/")[2] or text)
