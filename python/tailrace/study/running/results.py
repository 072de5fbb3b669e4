"""What one run came to: how it ended, its numbers, and its phases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailrace.study.definition.columns import RunStatus
from tailrace.verdict.efficiencies import POP_FACTORS, TAILRACE_FACTORS

Number = float | int | None


@dataclass(frozen=True)
class Result:
    """`numbers` by column; `phases` as rows in the order of columns.PHASE_COLUMNS, without the run;
    `details` is kept beside the run's output; `program` marks what was run. A run that did not
    succeed has the numbers that are true all the same. `placement` as bench.placement spells it,
    empty where the launcher chose. `simulated_on`: the model's name, where nothing was run.
    """

    status: RunStatus
    reason: str = ""
    numbers: Mapping[str, Number] = field(default_factory=dict)
    verified: bool | None = None
    phases: Sequence[Sequence[Any]] = ()
    details: Mapping[str, Any] | None = None
    cache: str = "as is"
    program: str = ""
    placement: str = ""
    simulated_on: str = ""


class StoppedError(Exception):
    """We were asked to end while a run was under way: that run does not count."""


def of_capture(capture: Mapping[str, Any] | None) -> dict[str, Number]:
    """The efficiencies that a trace gives; nothing without one."""
    if capture is None:
        return {}
    numbers: dict[str, Number] = {
        f"efficiency_{factor.key}": capture["efficiency"][factor.key] for factor in TAILRACE_FACTORS
    }
    numbers |= {f"pop_{factor.key}": capture["pop"][factor.key] for factor in POP_FACTORS}
    shared = capture["shared_files"]
    for what in ("write", "read"):
        numbers[f"shared_{what}_s"] = shared[f"{what}_s"]
        numbers[f"shared_{what}_share"] = shared[f"{what}_share_of_transfer_time"]
    return numbers


def of_files(capture: Mapping[str, Any] | None) -> dict[str, Number]:
    """What a trace says of a program's files: bytes, and time in reads and writes, summed over
    ranks and files."""
    if capture is None:
        return {}
    files = capture["files"]
    return {
        name: sum(file[name] for file in files)
        for name in ("bytes_written", "bytes_read", "write_s", "read_s")
    }
