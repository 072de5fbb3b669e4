"""A kernel, or CalculiX, under capture: what is preloaded, and what the trace then says of files
and efficiencies."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace import nodes, store
from tailrace.capture import libraries
from tailrace.capture.environment import CaptureOptions, Place, capture_environment
from tailrace.capture.launch import read_command, spans_nodes
from tailrace.capture.mpi import Installation
from tailrace.engine import ReplayOptions
from tailrace.terminal import Tell

# Of a trace's report, what belongs beside a kernel's own figures.
REPORTED = (
    "runtime_s",
    "headline",
    "efficiency",
    "pop",
    "io_s",
    "mpi_s",
    "useful_s",
    "files",
    "layers",
    "capture",
)


@dataclass(frozen=True)
class Capture:
    """Where the events go while the program runs (`raw`), and afterwards the trace."""

    directory: Path
    raw: Path
    trace: Path
    environment: dict[str, str]


def prepare(
    command: list[str],
    installations: list[Installation],
    directory: Path,
    name: str,
    scratch: Path,
    tell: Tell,
) -> Capture:
    """Compiles capture where it was not yet, and says what the environment must be."""
    prepared = libraries.prepare(installations, tell)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    trace = store.free_name(directory / f"{name}{store.SUFFIX}")
    raw = store.free_name(directory / store.RAW)
    raw.mkdir(mode=0o700)
    launch = read_command(command)
    several = launch.launcher is not None and spans_nodes(command)
    place = Place(directory, raw, trace, nodes.name_run(raw) if several else "")
    environment = capture_environment(
        command,
        launch,
        CaptureOptions(),
        place,
        libraries.preloadable(prepared, lambda: scratch),
    )
    return Capture(directory, raw, trace, environment)


def finish(
    capture: Capture, page: bool = True, replay: ReplayOptions | None = None
) -> dict[str, Any] | None:
    """Packs the trace, writes the page, and gives what the trace says; None where nothing was
    recorded."""
    from tailrace.engine import analyze
    from tailrace.report.command import write_page
    from tailrace.verdict.as_json import report

    nodes.collect(capture.raw)
    if not store.has_streams(capture.raw):
        store.remove_empty(capture.directory, capture.raw)
        return None
    trace = store.pack_verified(capture.raw, capture.trace)[0]
    columns = analyze(trace, **(replay or {}))
    answer = {key: value for key, value in report(columns).items() if key in REPORTED}
    answer["trace"] = str(trace)
    if page:
        answer["page"] = str(trace.with_suffix(".html"))
        write_page(Path(answer["page"]), [columns], [str(trace)])
    answer["shared_files"] = shared(answer["files"], answer["runtime_s"])
    return answer


def shared(files: list[dict[str, Any]], runtime_s: float) -> dict[str, Any]:
    """As Darshan gives it: cumulative time (over ranks) in reads and writes of files that more than
    one rank used, and which part of all time in reads and writes they are."""
    several = [file for file in files if file["ranks"] > 1]
    moving = sum(file["read_s"] + file["write_s"] for file in files)
    answer: dict[str, Any] = {"files": len(several), "runtime_s": runtime_s}
    for what in ("read", "write"):
        time_s = sum(file[f"{what}_s"] for file in several)
        answer[f"{what}_s"] = time_s
        answer[f"{what}_share_of_transfer_time"] = time_s / moving if moving else 0.0
    return answer
