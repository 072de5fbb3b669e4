"""The figures of one run, from its records: per output step and stream, rates, and what the ranks
used.

Times are seconds; a phase of a step is known for every rank. A rate divides the bytes of the steps
by the time from the first rank's begin to the last rank's end of the phases that its name lists,
taken as the longest rank's time in each step: `write_rate_mb_per_s` counts the write calls,
`…_including_sync_…` also the sync, `…_including_open_and_close_…` everything that the file cost. MB
are 10^6 bytes.
"""

from collections.abc import Sequence
from typing import Any

from tailrace.bench.records import PHASES, Direction, Record, Records

MB = 1e6
USAGE = ("user_s", "system_s", "elapsed_s", "compute_s", "communicate_s", "aside_s")
RATES = {
    Direction.WRITE: {
        "write_rate_mb_per_s": ("write",),
        "write_rate_including_sync_mb_per_s": ("write", "sync"),
        "write_rate_including_open_and_close_mb_per_s": (
            "open",
            "define",
            "write",
            "sync",
            "close",
        ),
    },
    Direction.READ: {
        "read_rate_mb_per_s": ("read",),
        "read_rate_including_open_and_close_mb_per_s": ("open", "read", "close"),
    },
}
# Methods that give each rank a file of its own.
APART = ("file-per-rank", "epio")


def spread(times: Sequence[float]) -> dict[str, Any]:
    """Over ranks: the shortest, the mean, the longest, and which rank took longest."""
    longest = max(times)
    return {
        "min": min(times),
        "mean": sum(times) / len(times),
        "max": longest,
        "rank_of_max": times.index(longest),
    }


def step_figures(record: Record) -> dict[str, Any]:
    kept = {
        key: record[key]
        for key in ("step", "path", "step_in_file", "model_step", "begin_s", "bytes")
    }
    kept |= {f"{phase}_s": spread(record[f"{phase}_s"]) for phase in PHASES}
    return kept | {"step_s": spread(_of_ranks(record, PHASES))}


def _of_ranks(record: Record, phases: Sequence[str]) -> list[float]:
    """Each rank's time in these phases of a step."""
    return [sum(times) for times in zip(*(record[f"{phase}_s"] for phase in phases), strict=True)]


def stream_figures(records: Records, stream: Record) -> dict[str, Any]:
    steps = records.of_stream("step", stream)
    kept = {
        key: stream[key] for key in ("stream", "direction", "method", "format", "steps_per_file")
    }
    return kept | {
        "bytes": sum(record["bytes"] for record in steps),
        "steps": [step_figures(record) for record in steps],
        "total": {f"{phase}_s": _total(steps, phase) for phase in PHASES} if steps else {},
        "rates": rates(steps, stream["direction"]),
        "hints": {hint["key"]: hint["value"] for hint in records.of_stream("hint", stream)},
    }


def _total(steps: list[Record], phase: str) -> dict[str, Any]:
    """Each rank's time over all steps, spread over the ranks, and their sum."""
    ranks = [sum(times) for times in zip(*(record[f"{phase}_s"] for record in steps), strict=True)]
    return spread(ranks) | {"sum": sum(ranks)}


def rates(steps: list[Record], direction: Direction) -> dict[str, float]:
    """Those that took any time; the best step's too, as h5perf gives it."""
    answer: dict[str, float] = {}
    for name, phases in RATES[direction].items():
        durations = [max(_of_ranks(record, phases)) for record in steps]
        if (whole := sum(durations)) > 0:
            answer[name] = sum(record["bytes"] for record in steps) / whole / MB
            answer[f"best_step_{name}"] = max(
                record["bytes"] / duration / MB
                for record, duration in zip(steps, durations, strict=True)
                if duration > 0
            )
    return answer


def usage(records: Records) -> dict[str, Any]:
    """What the ranks used, summed as the CMAQ paper did, and of each rank."""
    ranks = [
        {key: value for key, value in record.items() if key != "kind"} for record in records["rank"]
    ]
    summed = {key: sum(rank[key] for rank in ranks) for key in USAGE}
    longest = max((rank["elapsed_s"] for rank in ranks), default=0.0)
    largest = max((rank["maximum_resident_bytes"] for rank in ranks), default=0)
    return {"sum": summed, "elapsed_s": longest, "maximum_resident_bytes": largest, "ranks": ranks}


def shared_files(records: Records) -> dict[str, Any]:
    """Cumulative time (over ranks) in writes and reads of files that ranks share, and its share of
    all ranks' time.

    Of the file-per-rank method nothing is shared. A serial master's file counts: it is the ranks'
    common output.
    """
    elapsed_s = sum(record["elapsed_s"] for record in records["rank"])
    shared = {record["stream"] for record in records.streams if record["method"] not in APART}
    steps = [record for record in records["step"] if record["stream"] in shared]
    answer: dict[str, Any] = {"files": len({record["path"] for record in steps})}
    for direction in Direction:
        spent_s = sum(sum(record[f"{direction}_s"]) for record in steps)
        moved = (record["bytes"] for record in steps if record["direction"] == direction)
        answer[f"{direction}_s"] = spent_s
        answer[f"{direction}_share"] = spent_s / elapsed_s if elapsed_s else 0.0
        answer[f"bytes_{direction.participle}"] = sum(moved)
    return answer


def of_run(records: Records) -> dict[str, Any]:
    return {
        "streams": [stream_figures(records, stream) for stream in records.streams],
        "usage": usage(records),
        "shared_files": shared_files(records),
        "checks": [_without_kind(record) for record in records["check"]],
        "logicals": [_without_kind(record) for record in records["logical"]],
    }


def _without_kind(record: Record) -> Record:
    return {key: value for key, value in record.items() if key != "kind"}
