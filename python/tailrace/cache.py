"""The directory that compiled things are kept in: ~/.cache/tailrace, or TAILRACE_CACHE.

What lies there is loaded into the user's programs, or into Tailrace, so it must be the user's:
directories are made 0700, and one that others may write to is refused. Everything is made under
another name and renamed, so that runs that start together do not disturb each other.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.names import printable


def root() -> Path:
    """TAILRACE_CACHE, else the user's cache directory. Raises TailraceError for a user without a
    home, as in some containers."""
    if named := os.environ.get("TAILRACE_CACHE"):
        return Path(named).absolute()
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    if home == "~/.cache":
        raise TailraceError(
            "there is no home directory to keep compiled things in",
            "name a directory in the variable TAILRACE_CACHE",
        )
    return Path(home, "tailrace").absolute()


def folder(name: str) -> Path:
    """The cache's directory of this name, made where it does not exist. Raises TailraceError."""
    wanted = root() / name
    with writing(wanted.parent):
        for place in (wanted.parent, wanted):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            refuse_foreign(place)
    return wanted


def refuse_foreign(path: Path) -> None:
    """Raises TailraceError for what another user could have put there, or could change."""
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise TailraceError(
            f"{printable(str(path))} belongs to another user, who could change what it holds",
            "name a directory of your own in the variable TAILRACE_CACHE",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise TailraceError(
            f"{printable(str(path))} can be written by other users, who could change what it holds",
            f"remove it, or name another directory in the variable TAILRACE_CACHE: rm -r {root()}",
        )


@contextlib.contextmanager
def writing(place: Path) -> Iterator[None]:
    """What the system refuses about `place` becomes a TailraceError."""
    try:
        yield
    except OSError as error:
        raise TailraceError(
            f"{printable(str(place))} cannot be written: {error.strerror}",
            "name another directory in the variable TAILRACE_CACHE",
        ) from None


@contextlib.contextmanager
def scratch(beside: Path) -> Iterator[Path]:
    """A directory to make something in that is then renamed to `beside`."""
    with tempfile.TemporaryDirectory(prefix=".making-", dir=beside) as made:
        yield Path(made)


def remembered(
    name: str, files: Path | Iterable[Path], ask: Callable[[], str], about: str = ""
) -> str:
    """What `ask` says about files, asked again only when one of them, or `about`, has changed. One
    note is kept for the same files, the last."""
    several = [files] if isinstance(files, Path) else list(files)
    state = _digest(about, *map(_state, several))
    try:
        notes = folder(name)
    except TailraceError:  # reported where something must be kept
        return ask()
    note = notes / _digest(*map(str, several))
    with contextlib.suppress(OSError):
        kept, _, answer = note.read_text().partition("\n")
        if kept == state:
            return answer
    answer = ask()
    with contextlib.suppress(OSError), scratch(notes) as place:
        (place / "answer").write_text(f"{state}\n{answer}")
        (place / "answer").replace(note)
    return answer


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _state(file: Path) -> str:
    status = file.stat()
    return f"{file}\0{status.st_mtime_ns}\0{status.st_size}\0{status.st_ino}"
