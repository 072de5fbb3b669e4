"""One `tailrace bench`: build, prepare what is read, run, verify, and the JSON object that says all of it."""

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailrace.bench import captured, figures, kernels, surroundings, verify
from tailrace.bench import plan as plans
from tailrace.bench.execute import Outcome, execute
from tailrace.bench.launcher import Launcher
from tailrace.bench.places import Places
from tailrace.bench.progress import Meter
from tailrace.bench.records import Records
from tailrace.bench.workload import Workload
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.text_report import console

SCHEMA = 1
# The kernel ends itself at its limit, with a sentence; mpiexec is ended where even that does not happen.
LIMIT_GRACE_S = 15.0
SAID_AT_MOST = 600
Tell = Callable[[str], None]


class FailedRunError(TailraceError):
    """The run did not do what was asked of it; what it wrote does not count."""


class LateRunError(FailedRunError):
    """The run was not over at its time limit."""


class StoppedError(FailedRunError):
    """We were asked to stop."""


@dataclasses.dataclass(frozen=True)
class Wishes:
    """How it is run, beside the choices that go into the plan."""

    size: str
    repeat: int = 1
    verify: bool = True
    capture: bool = False
    time_limit_s: float = 0.0


@dataclasses.dataclass
class Session:
    workload: Workload
    choices: plans.Choices
    wishes: Wishes
    launcher: Launcher
    built: kernels.Kernels
    places: Places
    tell: Tell

    def answer(self) -> dict[str, Any]:
        """Runs all and gives the object of docs/schema/bench.json."""
        program = self.built.program(self.workload.program)
        prepared = self._prepare() if plans.prepares(self.workload) else None
        runs = [self._run(f"run-{number}") for number in range(1, self.wishes.repeat + 1)]
        return {
            "schema": SCHEMA,
            "workload": workload_figures(self.workload, self.wishes.size),
            "ranks": self.choices.ranks,
            "threads": 1,
            "method": self.choices.method,
            "format": "all" if self.choices.all_interfaces else self.choices.format,
            "hints_wanted": list(self.choices.hints),
            "settings": list(self.choices.settings),
            "cache": "cold" if self.choices.cold else "warm",
            "environment": surroundings.describe(
                program, self.places.output.parent, self.places.input.parent.parent, self.launcher, self.choices.ranks
            ),
            "prepared": prepared,
            "runs": runs,
            "verified": self.wishes.verify
            and all(run["verification"]["ok"] for run in [*runs, *filter(None, [prepared])]),
        }

    def _prepare(self) -> dict[str, Any]:
        """Writes what the workload reads, and verifies it like any output."""
        self.places.input.mkdir()
        _, notes = self.places.for_run("prepare")
        outcome = self._execute(notes, self.choices, prepare=True)
        return {"elapsed_s": outcome.elapsed_s, "verification": self._verification(outcome.records)}

    def _run(self, name: str) -> dict[str, Any]:
        files, notes = self.places.for_run(name)
        choices = dataclasses.replace(self.choices, directory=files)
        outcome = self._execute(notes, choices)
        capture = captured.finish(self._capture) if self._capture is not None else None
        answer = {"elapsed_s": outcome.elapsed_s} | figures.of_run(outcome.records)
        answer |= {"verification": self._verification(outcome.records), "capture": capture}
        if self.places.keep:
            answer["files"] = printable(str(files))
        self.places.close_run(name)
        return answer

    def _execute(self, notes: Path, choices: plans.Choices, prepare: bool = False) -> Outcome:
        plans.write(notes / "plan", plans.plan(self.workload, choices, prepare))
        program = self.built.program(self.workload.program)
        command = self.launcher.command(
            choices.ranks, [str(program), "--plan", str(notes / "plan"), "--records", str(notes / "records")]
        )
        environment = self.launcher.environment(choices.ranks)
        self._capture = None
        if self.wishes.capture and not prepare:
            self._capture = self._capture_of(command)
            environment |= self._capture.environment
        limit = self.wishes.time_limit_s and self.wishes.time_limit_s + LIMIT_GRACE_S
        label = f"preparing what {self.workload.name} reads" if prepare else self.workload.name
        with Meter(console(stderr=True), label) as meter:
            outcome = execute(command, environment, notes, limit, meter.record)
        check(outcome, self.workload.program, self.wishes.time_limit_s)
        return outcome

    def _capture_of(self, command: list[str]) -> captured.Capture:
        directory = Path(f"tailrace-{self.workload.name}-{time.strftime('%Y%m%d-%H%M%S')}")
        return captured.prepare(
            command, [self.launcher.mpi], directory.absolute(), self.workload.name, self.places.scratch, self.tell
        )

    def _verification(self, records: Records) -> dict[str, Any]:
        """Read once as the cache has it, and again from the disk where the system lets go of its pages."""
        if not self.wishes.verify:
            return {"ok": None, "passes": []}
        passes = [self._pass(records, "as written")]
        if verify.drop_cached(verify.all_files(records)):
            passes.append(self._pass(records, "after dropping the page cache"))
        failed = [check for check in records["check"] if not check["ok"]]
        ok = not failed and all(not one["differences"] for one in passes)
        return {"ok": ok, "passes": passes}

    def _pass(self, records: Records, what: str) -> dict[str, Any]:
        begin = time.monotonic()
        with Meter(console(stderr=True), f"verifying {what}") as meter:
            meter.expect(verify.bytes_expected(records))
            result = verify.verify(records, meter.advance)
        return {"pass": what, "elapsed_s": time.monotonic() - begin} | dataclasses.asdict(result)


def workload_figures(workload: Workload, size: str) -> dict[str, Any]:
    return {
        "name": workload.name,
        "description": workload.description,
        "seed": workload.seed,
        "program": workload.program,
        "size": size,
        "parameters": workload.parameters.model_dump(),
    }


def check(outcome: Outcome, program: str, time_limit_s: float) -> None:
    """Raises where the run did not come to its end, with its own sentence where it said one."""
    check_stopped(outcome, program, time_limit_s)
    end = outcome.records.end
    if end is not None and end["status"] != 0:
        raise FailedRunError(f"{program}: {printable(str(end.get('error', ''))).rstrip('.')}", _hint(outcome))
    if outcome.status != 0 or end is None:
        raise FailedRunError(f"{program} {_how(outcome.status)}: {_first_lines(outcome.output)}")


def check_stopped(outcome: Outcome, program: str, time_limit_s: float) -> None:
    if outcome.stopped == "interrupted":
        raise StoppedError("the run was interrupted, and all its processes were ended")
    if outcome.stopped == "time limit":
        raise LateRunError(
            f"{program} was not over after {time_limit_s:g} s, and all its processes were ended",
            "give more time with --time-limit, or choose a smaller --size",
        )


def _how(status: int) -> str:
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


def _first_lines(said: str) -> str:
    """What mpiexec or the program said, in short."""
    lines = [line.strip() for line in said.splitlines() if line.strip().strip("-=*")]
    return printable(" ".join(lines))[:SAID_AT_MOST] or "it said nothing"


def _hint(outcome: Outcome) -> str:
    found = [line for line in outcome.output.splitlines() if line.startswith("hint: ")]
    return printable(found[0].removeprefix("hint: ")) if found else ""


@contextmanager
def removed_afterwards(places: Places) -> Iterator[Places]:
    try:
        yield places
    finally:
        places.remove()
