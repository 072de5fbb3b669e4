"""`{name}` in a command's words. A brace itself is written twice, as in Python's format strings."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping

_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z][A-Za-z0-9_]*)\}|[{}]")


def names(text: str) -> Iterator[str]:
    """The placeholders of a text. Raises ValueError for a brace that is neither part of one nor
    doubled."""
    for token in _TOKEN.finditer(text):
        if token[0] in "{}":
            raise ValueError(f"has a single {token[0]}; write it twice for the character itself")
        if token[1]:
            yield token[1]


def filled(text: str, values: Mapping[str, str], quote: Callable[[str], str] = str) -> str:
    """The text with every placeholder's value, which is not looked at again."""

    def value(token: re.Match[str]) -> str:
        return quote(values[token[1]]) if token[1] else token[0][0]

    return _TOKEN.sub(value, text)


def shell_filled(text: str, values: Mapping[str, str], words: Mapping[str, list[str]]) -> str:
    """For a command that the user wants a shell to read: every value is one word of it, whatever it
    holds, or as many as `words` has."""
    quoted = {name: shlex.quote(value) for name, value in values.items()}
    return filled(text, quoted | {name: shlex.join(some) for name, some in words.items()})


def words_filled(
    texts: Iterable[str], values: Mapping[str, str], words: Mapping[str, list[str]]
) -> list[str]:
    """Of a command without a shell: a placeholder that stands alone may be several words, or
    none."""
    answer: list[str] = []
    for text in texts:
        name = text[1:-1] if text[:1] == "{" and text[-1:] == "}" else ""
        answer += words[name] if name in words else [filled(text, values)]
    return answer


def as_text(level: object) -> str:
    """A level as an argument, as a TOML file has it."""
    return str(level).lower() if isinstance(level, bool) else str(level)
