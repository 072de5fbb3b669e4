"""One run of a workload: planned, executed, captured where that is wanted, and read back. `tailrace
bench` and `tailrace study` both make their runs here."""

import dataclasses
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tailrace.bench import captured, programs, verify
from tailrace.bench.execute import Ending, Stopped, execute
from tailrace.bench.failures import check_stopped
from tailrace.bench.plan import Choices
from tailrace.bench.programs.program import Command, Installed, Program
from tailrace.bench.progress import Meter
from tailrace.bench.verify import Verification
from tailrace.bench.workload import Workload
from tailrace.engine import ReplayOptions
from tailrace.terminal import tell

# The kernel ends itself at its limit, with a sentence; mpiexec is ended where even that does not
# happen.
LIMIT_GRACE_S = 15.0


class Pass(StrEnum):
    """Where the bytes come from that a verification reads."""

    AS_WRITTEN = "as written"
    FROM_DISK = "after dropping the page cache"


@dataclass(frozen=True)
class Conditions:
    """How runs are made, beside the choices that go into the plan."""

    installed: Installed
    # words before the program: they bring it to its node
    enter: tuple[str, ...] = ()
    # added to that of the program
    environment: Mapping[str, str] = field(default_factory=dict)
    time_limit_s: float = 0.0  # 0: none
    passes: tuple[Pass, ...] = tuple(Pass)  # none: nothing is verified
    page: bool = False  # whether a trace that is kept gets a page
    progress: bool = False  # whether it is shown
    replay: ReplayOptions = field(default_factory=lambda: ReplayOptions())  # of a captured run


@dataclass(frozen=True)
class Outcome:
    """What a run came to. `figures`: of the program, as docs/schema/bench.json has them; `passes`:
    None where nothing was to be verified."""

    elapsed_s: float
    figures: dict[str, Any]
    capture: dict[str, Any] | None
    passes: dict[Pass, tuple[float, Verification]] | None

    @property
    def problems(self) -> list[str]:
        """What is not as the program meant it to be; each difference once for each pass."""
        checks = [check for check in self.figures["checks"] if not check["ok"]]
        return [f"{check['stream']}: {check['what']}" for check in checks] + [
            str(difference)
            for _, verification in (self.passes or {}).values()
            for difference in verification.differences
        ]

    @property
    def verification(self) -> dict[str, Any]:
        """As docs/schema/bench.json has it."""
        if self.passes is None:
            return {"ok": None, "passes": []}
        passes = [
            {"pass": str(kind), "elapsed_s": elapsed_s} | dataclasses.asdict(verification)
            for kind, (elapsed_s, verification) in self.passes.items()
        ]
        return {"ok": not self.problems, "passes": passes}


def one_run(
    workload: Workload,
    choices: Choices,
    conditions: Conditions,
    notes: Path,
    trace_directory: Path | None = None,
    prepare: bool = False,
) -> Outcome:
    """Runs the workload once. Raises FailedRunError where it did not come to its end.

    notes: for the plan, the records and what is said. trace_directory: where a trace is kept;
    None: there is none afterwards. prepare: runs what writes the workload's input.
    """
    program = programs.of(workload)
    program.plan(workload, choices, notes, prepare)
    command = program.command(conditions.installed, choices, notes)
    environment = command.environment | dict(conditions.environment)
    capture = None
    if trace_directory is not None or program.always_captured:
        capture = _prepare_capture(workload, command, trace_directory, notes)
        environment |= capture.environment
    grace_s = LIMIT_GRACE_S if choices.time_limit_s and program.knows_time_limit else 0.0
    limit_s = conditions.time_limit_s and conditions.time_limit_s + grace_s
    label = f"preparing what {workload.name} reads" if prepare else workload.name
    with Meter(label, conditions.progress) as meter:
        ending = execute(
            [*conditions.enter, *command.words],
            environment,
            notes,
            limit_s,
            meter.record,
            command.directory,
        )
    seen = None
    if capture is not None and ending.stopped is not Stopped.INTERRUPTED:
        seen = _finish_capture(capture, conditions, trace_directory)
    check_stopped(ending, workload.program, conditions.time_limit_s)
    program.check(workload, choices, ending)
    figures = program.figures(choices, ending, seen)
    passes = _verified(program, workload, choices, ending, conditions)
    return Outcome(ending.elapsed_s, figures, seen, passes)


def _prepare_capture(
    workload: Workload, command: Command, trace_directory: Path | None, notes: Path
) -> captured.Capture:
    directory = (trace_directory or notes / "capture").absolute()
    return captured.prepare(
        command.words, command.installations, directory, workload.name, notes, tell
    )


def _finish_capture(
    capture: captured.Capture, conditions: Conditions, trace_directory: Path | None
) -> dict[str, Any] | None:
    """What the trace says; a trace that nobody asked for goes."""
    seen = captured.finish(
        capture, conditions.page and trace_directory is not None, conditions.replay
    )
    if trace_directory is None:
        shutil.rmtree(capture.directory, ignore_errors=True)
        if seen is not None:
            del seen["trace"]
    return seen


def _verified(
    program: Program,
    workload: Workload,
    choices: Choices,
    ending: Ending,
    conditions: Conditions,
) -> dict[Pass, tuple[float, Verification]] | None:
    """Read as the cache has it, and from the disk where the system lets go of its pages."""
    done: dict[Pass, tuple[float, Verification]] = {}
    for wanted in conditions.passes:
        dropped = wanted is Pass.FROM_DISK and verify.drop_cached(program.written(choices, ending))
        kind = Pass.FROM_DISK if dropped else Pass.AS_WRITTEN
        if kind in done:
            continue
        begin = time.monotonic()
        with Meter(f"verifying {kind}", conditions.progress) as meter:
            meter.expect(program.bytes_to_verify(choices, ending))
            found = program.verify(workload, choices, ending, meter.advance)
        done[kind] = (time.monotonic() - begin, found)
    return done if conditions.passes else None
