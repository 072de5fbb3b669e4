"""What commands write: JSON documents, and files that appear only when they are whole."""

import contextlib
import errno
import itertools
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from tailrace.errors import TailraceError
from tailrace.names import printable, shown_path

# The version of every JSON document that Tailrace prints or stores (docs/schema).
SCHEMA = 1


def json_text(value: object) -> str:
    """Names stay readable, and what is not a JSON number (NaN, infinity) is refused."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)


def json_line(value: object) -> str:
    """The same on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def print_json(value: object) -> None:
    click.echo(json_text(value))


def no_directory(path: Path, choose: str, about: str = "") -> TailraceError:
    """What is said of a path that files are to be made below, and that is not a directory.
    `choose`: the option by which another is chosen."""
    shown, other = printable(str(path)), f"choose another with {choose}"
    if path.exists():
        return TailraceError(f"{about}{shown} is not a directory", other)
    hint = f"mount it or create it, or {other}"
    return TailraceError(f"{about}there is no directory {shown}", hint)


def write_whole(path: Path, text: str) -> None:
    """Writes a file beside its final name, readable by its owner only, and renames it. A link is
    followed, and what is not a regular file (a device, a pipe) is written to, never replaced; `-`
    is stdout. Raises TailraceError."""
    if str(path) == "-":
        click.echo(text, nl=False)
        return
    with writing(path):
        if path.exists() and not path.is_file():  # of /dev/stdout no path is known but this
            path.write_text(text, "utf-8")
            return
        target = Path(os.path.realpath(path))
        with _beside(target, text) as temporary:
            temporary.replace(target)


def check_writable(path: Path) -> None:
    """Raises TailraceError where `write_whole` would, before long work for what is written."""
    if str(path) == "-":
        return
    with writing(path):
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.is_file() or not target.exists():
            with _beside(target, ""):
                pass


def write_new(path: Path, text: str) -> Path:
    """The same under the first of NAME, NAME-2, … that is free, whatever else is written
    meanwhile. Returns the name that it became."""
    with writing(path), _beside(path, text) as temporary:
        return publish(temporary, path)


def publish(temporary: Path, wanted: Path) -> Path:
    """Gives a finished file the first free name of `wanted`, wanted-2, …; nothing is overwritten,
    even where several do so at once."""
    for name in free_names(wanted):
        try:
            os.link(temporary, name)
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links
            try:
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except FileExistsError:
                continue
            temporary.replace(name)
        return name
    raise AssertionError("there are always more names")


def free_names(wanted: Path) -> Iterator[Path]:
    """`wanted`, wanted-2, wanted-3, …: those that nothing has, not even a dangling link."""
    names = itertools.chain(
        [wanted], (wanted.with_stem(f"{wanted.stem}-{n}") for n in itertools.count(2))
    )
    return (name for name in names if not os.path.lexists(name))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system refuses about `path` becomes a TailraceError."""
    try:
        yield
    except OSError as error:
        raise TailraceError(
            f"{shown_path(path)} cannot be written: {error.strerror}",
            "choose another place with -o",
        ) from None


@contextlib.contextmanager
def _beside(path: Path, text: str) -> Iterator[Path]:
    """A temporary file in the directory of `path` that holds the text; gone afterwards."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        yield Path(name)
    finally:
        with contextlib.suppress(OSError):
            Path(name).unlink()
