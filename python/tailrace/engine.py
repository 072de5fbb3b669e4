"""The one place that calls the compiled engine: errors become sentences, long work shows a
bar."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.terminal import late_bar

# Ranks wait in collectives only where data flow, or always for all (Dimemas' convention).
Collectives = Literal["data", "all"]


class ReplayOptions(TypedDict, total=False):
    """How a trace is analysed; what is absent or None is the engine's default."""

    eager_limit_bytes: int | None
    collectives: Collectives | None
    critical_paths: bool | None
    bins: int | None
    longest: int | None
    threads: int | None


def _engine() -> Any:
    try:
        from tailrace import _engine
    except ImportError as error:
        raise TailraceError(
            f"Tailrace's compiled engine cannot be loaded: {error}",
            "install it with `pip install .` in the checkout",
        ) from None
    return _engine


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turns whatever the engine or the system says about `path` into a TailraceError."""
    engine = _engine()
    try:
        yield
    except engine.TraceError as error:
        message, hint = error.args
        raise TailraceError(message, hint) from None
    except OSError as error:
        raise TailraceError(f"{printable(str(path))}: {error.strerror or error}") from None


def eager_limit_bytes() -> int:
    """The default threshold between eager and rendezvous messages."""
    return int(_engine().EAGER_LIMIT_BYTES)


def analyze(path: str | Path, **options: Unpack[ReplayOptions]) -> dict[str, Any]:
    """Columns of a trace: run times, and tables per rank, file, function, phase and bin of the
    timeline. `critical_paths`: whether these are followed, and who waited for whom, for which
    much of the trace is read again.

    Raises TailraceError for a file that is not a readable trace, ValueError for an option that is
    out of range.
    """
    path = Path(path)
    with reported(path), late_bar(f"reading {printable(path.name)}") as progress:
        columns: dict[str, Any] = _engine().analyze(str(path), progress=progress, **options)
        asked = {"trace": str(path), "eager_limit_bytes": options.get("eager_limit_bytes")}
        return {**columns, **asked}


def verify(path: Path) -> None:
    """Reads a trace in full. Raises TailraceError as `analyze` does where it is damaged, and needs
    no NumPy, which takes longer to load than a small program to run."""
    with reported(path), late_bar(f"verifying {printable(path.name)}") as progress:
        _engine().verify(str(path), progress=progress)


def calls(
    path: Path,
    begin_ns: int | None,
    end_ns: int | None,
    ranks: list[int] | None,
    file: bytes | None,
) -> Any:
    """The engine's stream of calls, which opens `path` when it is read."""
    selection = {"begin_ns": begin_ns, "end_ns": end_ns, "ranks": ranks, "file": file}
    return _engine().Calls(str(path), **selection)


def steps(path: Path, eager_limit_bytes: int | None = None, outputs: bool = False) -> Any:
    """What each rank of a trace did, which `replay` takes again in another time. `outputs`: and
    whose data are written, for `by_method`."""
    with reported(path):
        return _engine().Steps(str(path), eager_limit_bytes=eager_limit_bytes, outputs=outputs)


def model_times(model: dict[str, Any], calls: list[tuple[str, int, int, int]]) -> list[int]:
    """What the calls of one process take by a model, ns: each is (kind, file, offset, bytes)."""
    times: list[int] = _engine().model_times(model, calls)
    return times


def model_ends(
    model: dict[str, Any],
    nodes: list[int],
    ranks: list[list[tuple[str, int, int, int]]],
    warm: bool = False,
) -> list[int]:
    """When each rank is done with its calls by a model, ns. `nodes`: by rank; `warm`: clients know
    all files when it begins."""
    ends: list[int] = _engine().model_ends(model, nodes, ranks, warm=warm)
    return ends


def simulate(workload: dict[str, Any], model: dict[str, Any], **settings: Any) -> Any:
    """What a workload's run would take; None where some rank would have no cell."""
    return _engine().simulate(workload, model, **settings)


def simulated_calls(workload: dict[str, Any]) -> Any:
    """By rank, the file calls of that run: each is (kind, file, offset, bytes)."""
    return _engine().simulated_calls(workload)


def recorded_calls(path: Path) -> Any:
    """The same of a trace."""
    with reported(path):
        return _engine().recorded_calls(str(path))


def pack(raw_directory: Path, output: Path) -> list[dict[str, Any]]:
    """Packs a raw directory into one file for each run in it, which appears under its name only
    when it is whole: `output`, then with -2, -3, … before the ending. Returns a summary of each."""
    with reported(raw_directory), late_bar(f"packing {printable(output.name)}") as progress:
        runs: list[dict[str, Any]] = _engine().pack(
            str(raw_directory), str(output), progress=progress
        )
        return runs
