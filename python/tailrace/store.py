"""Where a run's files lie: DIR/raw while it runs, DIR/NAME.tailrace and DIR/report.html afterwards."""

import itertools
from pathlib import Path

from tailrace.engine import analyze, pack
from tailrace.errors import TailraceError
from tailrace.names import printable

SUFFIX = ".tailrace"
RAW = "raw"
STREAMS = "*.stream"


def streams(directory: Path) -> list[Path]:
    return sorted(directory.glob(STREAMS)) if directory.is_dir() else []


def free_name(wanted: Path) -> Path:
    """`wanted`, or the first of wanted-2, wanted-3, … that does not exist: a trace is never overwritten."""
    names = itertools.chain([wanted], (wanted.with_stem(f"{wanted.stem}-{n}") for n in itertools.count(2)))
    return next(name for name in names if not name.exists())


def pack_directory(raw: Path, output: Path | None = None) -> Path:
    """Packs DIR or DIR/raw into one trace beside the raw directory and returns its path. The raw streams stay."""
    if not streams(raw) and streams(raw / RAW):
        raw = raw / RAW
    if not streams(raw):
        raise TailraceError(
            f"{printable(str(raw))}: there are no raw streams (HOST.PID.N.stream) here",
            "give the raw directory of a run, usually DIR/raw",
        )
    if output is not None and output.exists():
        raise TailraceError(f"{printable(str(output))} exists already", "choose another name with -o")
    output = output or free_name(_default_output(raw))
    pack(raw, output)
    return output


def _default_output(raw: Path) -> Path:
    home = raw.resolve().parent if raw.resolve().name == RAW else raw.resolve()
    return home / f"{home.name}{SUFFIX}"


def pack_verified(raw: Path, output: Path) -> Path:
    """Packs, reads the result back in full, and only then removes the raw streams (and nothing else)."""
    pack(raw, output)
    analyze(output, bins=1, longest=0)
    for stream in streams(raw):
        stream.unlink()
    if raw.is_dir() and not any(raw.iterdir()):
        raw.rmdir()
    return output


def find_trace(path: Path) -> Path:
    """The trace that `path` names: a file as it is; a run's directory gives its trace, packed now if it was not yet."""
    if not path.is_dir():
        if not path.exists():
            raise TailraceError(
                f"{printable(str(path))}: there is no such file", "give a trace, or a directory of `tailrace run`"
            )
        return path
    traces = sorted(path.glob(f"*{SUFFIX}"))
    if len(traces) == 1:
        return traces[0]
    if traces:
        names = ", ".join(printable(trace.name) for trace in traces)
        raise TailraceError(
            f"{printable(str(path))} holds several traces: {names}", "name the one you mean, or several to compare"
        )
    return pack_directory(path)


def remove_empty(directory: Path) -> None:
    """Takes back the directory of a run that recorded nothing, if nothing else is in it."""
    for candidate in (directory / RAW, directory):
        if candidate.is_dir() and not any(candidate.iterdir()):
            candidate.rmdir()
