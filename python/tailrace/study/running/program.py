"""What was run: a mark of the program's files, so that a rebuild between two runs is noticed."""

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tailrace.capture.launch import executable

SCRIPTS = (".jl", ".lua", ".pl", ".py", ".R", ".rb", ".sh")
MARK_LENGTH = 12


def mark(words: Sequence[str], directory: Path) -> str:
    """Of the programs and scripts that these words name, relative to `directory` or found as a
    shell finds them; empty where there are none."""
    found = hashlib.sha256()
    files = [path for word in words if (path := _program(word, directory)) is not None]
    for path in files:
        state = path.stat()
        found.update(_digest(path, state.st_mtime_ns, state.st_size).encode())
    return found.hexdigest()[:MARK_LENGTH] if files else ""


def _program(word: str, directory: Path) -> Path | None:
    path = directory / word if "/" in word or word.endswith(SCRIPTS) else executable(word)
    if path is None:
        return None
    try:
        runs = Path(path).is_file() and (os.access(path, os.X_OK) or word.endswith(SCRIPTS))
    except (OSError, ValueError):  # a word that is no file's name
        return None
    return Path(path) if runs else None


@lru_cache(maxsize=256)  # as it was then: read again only when it has changed
def _digest(path: Path, _modified_ns: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
