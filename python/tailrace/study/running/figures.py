"""The numbers and phases of a workload's run, from the figures of tailrace.bench
(docs/schema/bench.json).

Times of phases are the slowest rank's in each step, summed over steps and streams; user and system
time are summed over ranks, as the CMAQ paper did; a rate is all bytes over the time of the
phases that it counts, in 10^6 bytes.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tailrace.bench.figures import MB
from tailrace.bench.one_run import Outcome
from tailrace.bench.records import PHASES
from tailrace.study.running.results import Number, of_capture

# A data set's or a variable's creation, which bench calls after what the libraries do.
NAMES = {"define": "create"}
MOVED = ("write", "read")
Streams = Iterable[Mapping[str, Any]]


def numbers(outcome: Outcome) -> dict[str, Number]:
    """Of a run, by column."""
    of_program = _of_trace if "calculix" in outcome.figures else _of_records
    launched = {"launch_to_end_s": outcome.elapsed_s}
    return of_capture(outcome.capture) | of_program(outcome.figures) | launched


def _of_records(figures: Mapping[str, Any]) -> dict[str, Number]:
    """Of a kernel."""
    streams, usage, shared = figures["streams"], figures["usage"], figures["shared_files"]
    answer: dict[str, Number] = {
        "elapsed_s": usage["elapsed_s"],
        "maximum_resident_bytes": usage["maximum_resident_bytes"],
    }
    answer |= {
        name: usage["sum"][name] for name in ("user_s", "system_s", "compute_s", "communicate_s")
    }
    ranks = max(len(usage["ranks"]), 1)
    answer |= {
        f"{name}_per_rank_s": usage["sum"][f"{name}_s"] / ranks for name in ("user", "system")
    }
    answer |= {f"{NAMES.get(phase, phase)}_s": _slowest(streams, phase) for phase in PHASES}
    answer |= _moved(
        [s for s in streams if s["direction"] == "write"], "write", "output_s", "bytes_written"
    )
    answer |= _moved(
        [s for s in streams if s["direction"] == "read"], "read", "input_s", "bytes_read"
    )
    in_shared = sum(shared[f"{what}_s"] for what in MOVED)
    for what in MOVED:
        answer[f"shared_{what}_s"] = shared[f"{what}_s"]
        answer[f"shared_{what}_share"] = shared[f"{what}_s"] / in_shared if in_shared else None
    created, whole = answer["create_s"] or 0.0, answer["output_s"] or 0.0
    answer["create_share"] = created / whole if created and whole else None
    answer["read_and_write_s"] = sum(
        stream["total"].get(f"{d}_s", {}).get("sum", 0.0) for stream in streams for d in MOVED
    )
    return answer


def _slowest(streams: Streams, phase: str) -> float:
    return sum(step[f"{phase}_s"]["max"] for stream in streams for step in stream["steps"])


def _moved(
    streams: list[Mapping[str, Any]], direction: str, whole_name: str, bytes_name: str
) -> dict[str, Number]:
    moved = sum(stream["bytes"] for stream in streams)
    calls_s = _slowest(streams, direction)
    whole_s = sum(step["step_s"]["max"] for stream in streams for step in stream["steps"])
    return {
        bytes_name: moved,
        whole_name: whole_s,
        f"{direction}_rate_mb_per_s": moved / calls_s / MB if moved and calls_s else None,
        f"{direction}_rate_whole_mb_per_s": moved / whole_s / MB if moved and whole_s else None,
    }


def phases(figures: Mapping[str, Any]) -> Iterator[list[Any]]:
    """One row per stream, step and phase that took any time: output, direction, step, phase, bytes,
    shortest, mean and longest time over ranks, the slowest rank. The bytes are the step's, in the
    row of the phase that moves them.
    """
    for stream in figures["streams"]:
        for step in stream["steps"]:
            for phase in PHASES:
                times = step[f"{phase}_s"]
                if times["max"] > 0:
                    moved = step["bytes"] if phase == stream["direction"] else 0
                    row = [
                        stream["stream"],
                        stream["direction"],
                        step["step"],
                        NAMES.get(phase, phase),
                        moved,
                    ]
                    yield [*row, times["min"], times["mean"], times["max"], times["rank_of_max"]]


def _of_trace(figures: Mapping[str, Any]) -> dict[str, Number]:
    """Of CalculiX, which is not a kernel."""
    own, usage = figures["calculix"], figures["usage"]
    answer: dict[str, Number] = {"elapsed_s": own["run_s"]} | usage
    for what, verb in (("write", "written"), ("read", "read")):
        answer[f"bytes_{verb}"] = sum(file[f"bytes_{verb}"] for file in own["files"])
        answer[f"{what}_s"] = answer[f"shared_{what}_s"] = own[f"shared_{what}_s"]
    answer["read_and_write_s"] = own["shared_write_s"] + own["shared_read_s"]
    share = own["write_share_of_transfer_time"]
    answer |= {"shared_write_share": share, "shared_read_share": 1 - share}
    for layer in ("posix", "stdio"):
        answer[f"{layer}_rate_mb_per_s"] = own[layer]["transfer_rate_mb_per_s"] or None
    return answer
