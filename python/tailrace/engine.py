"""The one place that calls the compiled engine: errors become sentences, long work shows a bar on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.file_tables import merged
from tailrace.names import printable

Progress = Callable[[float], None]

# Dimemas' and POP's usual threshold between eager and rendezvous messages (DESIGN.md).
EAGER_LIMIT_BYTES = 32 * 1024


def _engine() -> Any:
    try:
        from tailrace import _engine
    except ImportError as error:
        raise TailraceError(
            f"Tailrace's compiled engine cannot be loaded: {error}", "install it with `pip install .` in the checkout"
        ) from None
    return _engine


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turns whatever the engine or the system says about `path` into a TailraceError."""
    engine = _engine()
    try:
        yield
    except engine.TraceError as error:
        message, hint = (*error.args, "")[:2]
        raise TailraceError(message, hint or "") from None
    except OSError as error:
        raise TailraceError(f"{printable(str(path))}: {error.strerror or error}") from None


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Yields a function that takes the share done (0 to 1), or None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def analyze(path: str | Path, **options: Any) -> dict[str, Any]:
    """Columns of a trace: run times, and tables per rank, file, function, phase and bin of the timeline.

    `options`: eager_limit_bytes, collectives ("data" or "all"), bins, longest, threads.
    Raises TailraceError for a file that is no readable trace.
    """
    path = Path(path)
    with _told(path), progress_bar(f"reading {printable(path.name)}") as progress:
        return merged(_engine().analyze(str(path), progress=progress, **options))


def pack(raw_directory: Path, output: Path) -> dict[str, Any]:
    """Packs a raw directory into one file, which appears under its name only when it is whole."""
    with _told(raw_directory), progress_bar(f"packing {printable(output.name)}") as progress:
        return _engine().pack(str(raw_directory), str(output), progress=progress)
