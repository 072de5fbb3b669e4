"""Where a run's files lie: DIR/raw while it runs, DIR/NAME.tailrace and DIR/report.html
afterwards."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tailrace import nodes
from tailrace.engine import pack, verify
from tailrace.errors import TailraceError
from tailrace.names import printable, shown_path
from tailrace.output import free_names, publish, writing
from tailrace.terminal import tell

SUFFIX = ".tailrace"
RAW = "raw"
STREAMS = "*.stream"
# In a raw directory: locked by `tailrace run` for as long as the program runs.
RUNNING = "running"
# In a raw directory: how and when the command ended, in lines `key=value`.
ENDED = "ended"
# Of other tools, and of ours: what to do with a file that is no trace.
OTHERS = {
    ".otf2": ("an OTF2 archive", "record the run with `tailrace run`; OTF2 cannot be read"),
    ".darshan": ("a log of Darshan", "PyDarshan reads it; `tailrace run` records a trace"),
    ".html": ("a page", "give the .tailrace file beside it, or its directory"),
    ".json": ("a JSON document", "give the trace that it was made from"),
    ".pcf": ("the names of a Paraver trace", "give the .prv file beside it"),
    ".row": ("the rows of a Paraver trace", "give the .prv file beside it"),
    ".stream": ("a raw stream of one process", "give its directory, or `tailrace pack` it"),
    ".toml": ("a workload or a study", "`tailrace bench` and `tailrace study run` take it"),
}


def streams(directory: Path) -> list[Path]:
    """Each a file, or several in the file of a node."""
    found = directory.is_dir() and [*directory.glob(STREAMS), *directory.glob(nodes.FILES)]
    return sorted(found or [])


def has_streams(directory: Path) -> bool:
    return bool(streams(directory))


def free_name(wanted: Path) -> Path:
    """`wanted`, or the first of wanted-2, wanted-3, … that does not exist: a trace is never
    overwritten."""
    return next(free_names(wanted))


# --- packing --------------------------------------------------------------------------------------


def raw_directory(place: Path) -> Path | None:
    """The directory with the raw streams, or with word of them on nodes: DIR or DIR/raw."""
    return next((folder for folder in (place, place / RAW) if _holds(folder)), None)


def _holds(folder: Path) -> bool:
    return has_streams(folder) or (folder / nodes.NAME).is_file()


def pack_directory(place: Path, output: Path | None = None) -> list[Path]:
    """Packs DIR or DIR/raw into a trace beside the raw directory, or one for each run where there
    are several, and returns their paths. The raw streams stay."""
    raw = raw_directory(place)
    if raw is None:
        raise TailraceError(
            f"{printable(str(place))}: there are no raw streams (HOST.PID.N.stream) here",
            "give the raw directory of a run, such as DIR/raw",
        )
    if output is not None and os.path.lexists(output):
        raise TailraceError(
            f"{printable(str(output))} exists already", "choose another name with -o"
        )
    if is_running(raw):
        tell("the program is still running: what it recorded so far is packed")
    else:
        nodes.collect(raw)
    with packed(raw, output or _default_output(raw)) as runs:
        return [publish(run.trace, output or _default_output(raw)) for run in runs]


def _default_output(raw: Path) -> Path:
    home = raw.resolve().parent if raw.resolve().name == RAW else raw.resolve()
    return home / f"{home.name}{SUFFIX}"


class Packed(NamedTuple):
    """A packed trace, and what it says about its run."""

    trace: Path
    meta: dict[str, str]
    ranks: int


# Where traces are packed, beside their place; one that is not locked was made so long ago by a
# packer that was killed.
PACKING = ".tailrace-packing-"
YOUNG_S = 10


@contextlib.contextmanager
def _packing_place(home: Path) -> Iterator[str]:
    """A temporary directory, locked while it is used: those of packers that were killed, which are
    not, are removed."""
    for left in home.glob(f"{PACKING}*"):
        _remove_unused(left)
    with tempfile.TemporaryDirectory(prefix=PACKING, dir=home) as at:
        descriptor = os.open(at, os.O_RDONLY)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: nothing is removed
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield at
        finally:
            os.close(descriptor)


def _remove_unused(place: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - place.lstat().st_mtime < YOUNG_S:
            return
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def packed(raw: Path, output: Path) -> Iterator[list[Packed]]:
    """The packed trace of each run, in order of their begin, in a temporary directory beside
    `output`, gone afterwards."""
    with writing(output), _packing_place(output.parent) as at:
        runs = pack(raw, Path(at) / output.name)
        yield [Packed(Path(run["path"]), run["meta"], int(run["ranks"])) for run in runs]


def pack_verified(
    raw: Path, output: Path, name_of: Callable[[list[Packed]], list[str]] | None = None
) -> list[Path]:
    """Packs, reads the results back in full, and only then removes the raw streams (and nothing
    else). Returns the traces: each has its name of `name_of`, else that of `output`, or the next
    that is free."""
    with packed(raw, output) as runs:
        for run in runs:
            verify(run.trace)
        names = name_of(runs) if name_of is not None else [output.stem] * len(runs)
        traces = [
            publish(run.trace, output.with_name(f"{name}{SUFFIX}"))
            for run, name in zip(runs, names, strict=True)
        ]
    kept = nodes.awaited(raw)  # what is still to come has to be packed with what there is
    for path in [] if kept else (*streams(raw), raw / RUNNING, raw / ENDED, raw / nodes.NAME):
        path.unlink(missing_ok=True)
    if raw.is_dir() and not any(raw.iterdir()):
        raw.rmdir()
    return traces


# --- what a path names ----------------------------------------------------------------------------


@contextlib.contextmanager
def opened_trace(path: Path) -> Iterator[Path]:
    """The trace that `path` names: a file as it is; a run's directory gives its trace, packed now
    if it was not yet, and of a run that goes on what there is so far, for the moment only."""
    raw = raw_directory(path) if _is_directory(path) else None
    if raw is None or not is_running(raw):
        yield find_trace(path)
        return
    tell(f"{printable(str(path))}: the program is still running; this is what it recorded so far")
    with tempfile.TemporaryDirectory(prefix="tailrace-") as scratch:
        trace = Path(scratch) / _default_output(raw).name
        runs = pack(raw, trace)
        if len(runs) > 1:
            tell(f"there are {len(runs)} runs so far; this is the first")
        yield trace


def find_trace(path: Path) -> Path:
    """The trace that `path` names, packed into its directory where it was not yet."""
    if not _is_directory(path):
        return _readable(path)
    traces = sorted(path.glob(f"*{SUFFIX}"))
    if not traces and raw_directory(path) is None:
        raise _no_trace(path)
    traces = traces or pack_directory(path)
    if len(traces) > 1:
        names = ", ".join(printable(trace.name) for trace in traces)
        raise TailraceError(
            f"{printable(str(path))} holds several traces: {names}",
            "name the one you mean, or several to compare",
        )
    return traces[0]


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        raise TailraceError(
            f"{printable(str(path))}: there is no such file",
            "give a trace, or a directory of `tailrace run`",
        ) from None
    except OSError as error:
        raise TailraceError(
            f"{shown_path(path)}: {error.strerror}",
            "give a trace, or a directory of `tailrace run`",
        ) from None


def _readable(path: Path) -> Path:
    if not path.is_file():
        raise TailraceError(
            f"{printable(str(path))} is not a regular file",
            "give a trace, or a directory of `tailrace run`",
        )
    if (known := OTHERS.get(path.suffix.lower())) is not None:
        what, hint = known
        raise TailraceError(f"{printable(str(path))} is {what}, not a trace", hint)
    return path


def _no_trace(path: Path) -> TailraceError:
    name = printable(str(path))
    if (path / "plan.json").is_file() and (path / "study.toml").is_file():
        return TailraceError(f"{name} holds a study, not a trace", f"tailrace study report {name}")
    return TailraceError(
        f"there is no trace in {name}", "give a trace, or a directory of `tailrace run`"
    )


# --- a run that goes on ---------------------------------------------------------------------------


@contextlib.contextmanager
def running(raw: Path) -> Iterator[None]:
    """While the program runs: others can see that its raw directory is still written to."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # without it only `report` meanwhile knows less
            (raw / RUNNING).touch(mode=0o600)
            file = stack.enter_context((raw / RUNNING).open("w"))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def say_how_it_ended(raw: Path, told: dict[str, str]) -> None:
    """For the trace, whenever it is packed."""
    if streams(raw):
        with contextlib.suppress(OSError):
            (raw / ENDED).write_text("".join(f"{key}={told[key]}\n" for key in told))


def is_running(raw: Path) -> bool:
    """Whether `tailrace run` waits for the command, or, where that was killed, what it started
    still writes on this node."""
    return _is_locked(raw) or is_written(raw)


def is_written(raw: Path) -> bool:
    """Whether a process of this node still records there, or in this node's own directory."""
    return any(map(_holds_mapped, (raw, *nodes.places(raw))))


def _is_locked(raw: Path) -> bool:
    try:
        with (raw / RUNNING).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _holds_mapped(place: Path) -> bool:
    """Whether a process has mapped a stream there, HOST.PID.N.stream."""
    names = [path.name.rsplit(".", 3) for path in place.glob(STREAMS)]
    here = {parts[1] for parts in names if len(parts) == 4 and parts[0] == os.uname().nodename}
    return any(_has_mapped(number, place) for number in here if number.isdecimal())


def _has_mapped(process_id: str, place: Path) -> bool:
    with contextlib.suppress(OSError):
        maps = Path("/proc", process_id, "maps").read_text("utf-8", "surrogateescape")
        return f" {place.resolve()}/" in maps
    return False


def remove_empty(directory: Path, raw: Path) -> None:
    """Takes back the directories of a run that recorded nothing, if nothing else is in them."""
    for name in (RUNNING, nodes.NAME):
        (raw / name).unlink(missing_ok=True)
    for candidate in (raw, directory):
        if candidate.is_dir() and not any(candidate.iterdir()):
            candidate.rmdir()
