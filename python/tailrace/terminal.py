"""What every verb says, and how: sentences on stderr, tables, and a bar while something takes long.

Numbers go to stdout; everything here that is not an answer goes to stderr. `rich` is imported only
where something is drawn.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Tell = Callable[[str], None]
Progress = Callable[[float], None]

# Of text that goes to a file or a pipe.
FILE_WIDTH = 110
UNFOLDED = 10_000
# Who waits longer wants to see how far it is.
PATIENCE_S = 0.5


def tell(sentence: str) -> None:
    """One line on stderr; never fails, as stderr may be closed."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):
        print(f"tailrace: {sentence}", file=sys.stderr, flush=True)


# What terminals take for a style.
CODES = {"bold": 1, "dim": 2}


def tell_styled(lines: Iterable[tuple[str, str]]) -> None:
    """Lines on stderr, each plain or in one of CODES; never fails."""
    if sys.stderr is None:
        return
    with contextlib.suppress(OSError, ValueError):
        plain = not _shows_styles()
        for text, style in lines:
            shown = text if plain or not style else f"\x1b[{CODES[style]}m{text}\x1b[0m"
            print(shown, file=sys.stderr, flush=True)


def _shows_styles() -> bool:
    """As rich decides it."""
    compatible, forced = os.environ.get("TTY_COMPATIBLE"), os.environ.get("FORCE_COLOR")
    if compatible in ("0", "1"):
        shows = compatible == "1"
    else:
        shows = sys.stderr.isatty() if forced is None else bool(forced)
    return shows and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def console(stderr: bool = False) -> "Console":
    """No markup and no highlighting: names of files must not be read as either."""
    from rich.console import Console

    class Quiet(Console):
        """A reader that has read enough (`| head`) is not an error, which it is to rich."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    result = Quiet(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not result.is_terminal and "COLUMNS" not in os.environ:
        result.width = FILE_WIDTH
    return result


def table(title: str, *columns: str) -> "Table":
    """A plain table; columns whose heading starts with ">" are aligned to the right."""
    from rich.table import Table

    result = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        header_style="dim",
    )
    for column in columns:
        result.add_column(
            column.lstrip(">"),
            justify="right" if column.startswith(">") else "left",
            overflow="fold",
        )
    return result


def print_numbers(out: "Console", rows: "Table") -> None:
    """A table of numbers; in a file or pipe as wide as it needs, since a folded number is none."""
    width = out.width
    if not out.is_terminal:
        out.width = UNFOLDED
        out.width = max(width, out.measure(rows).maximum)
    out.print(rows)
    out.width = width


@contextmanager
def late_bar(label: str) -> Iterator[Progress | None]:
    """A progress bar for what is mostly done at once: it comes when that takes long. To load what
    draws it takes longer than to read a small trace."""
    if not _is_watched():
        yield None
        return
    begin = time.monotonic()
    update: Progress | None = None
    with contextlib.ExitStack() as shown:

        def show(share: float) -> None:
            nonlocal update
            if update is None and time.monotonic() - begin >= PATIENCE_S:
                update = shown.enter_context(progress_bar(label))
            if update is not None:
                update(share)

        yield show


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Yields a function that takes the share done (0 to 1), or None where nobody watches."""
    if not _is_watched():
        yield None
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _is_watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
