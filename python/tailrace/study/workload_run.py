"""Runs a workload of `tailrace bench`: the same kernels, plans, records and verification, one run at a time.

What a run reads is prepared once for all runs that read the same in the same place, and verified like any output. What
it writes is read back once, after the cache was told to let go of it, and then removed.
"""

import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tailrace.bench import captured, kernels, launcher, loader, pairs, verify
from tailrace.bench import figures as bench_figures
from tailrace.bench import plan as plans
from tailrace.bench.command import check_ranks
from tailrace.bench.execute import Outcome, execute
from tailrace.bench.records import Records
from tailrace.bench.session import FailedRunError, LateRunError, Wishes, check
from tailrace.bench.session import StoppedError as BenchStoppedError
from tailrace.bench.workload import Transfers, Workload
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.run import tell
from tailrace.study import figures, leftovers, page_cache
from tailrace.study.model import Study
from tailrace.study.results import DONE, FAILED, TIMEOUT, WRONG, Result, StoppedError
from tailrace.study.setups import Setup
from tailrace.study.targets import Targets, run_name
from tailrace.toml_file import first_problem

DIFFERENCES_TOLD = 3


@dataclass
class WorkloadRuns:
    """Executes the combinations of a study that has a workload. `word`: its name, or the path of its file."""

    study: Study
    targets: Targets
    word: str
    keep: bool = False
    program: Path | None = None
    _built: kernels.Kernels | None = None
    _workloads: dict[str, Workload] = field(default_factory=dict)

    def check(self, setups: list[Setup]) -> None:
        """What would fail in every run is told before the first; the kernels are compiled where they were not yet."""
        self._launcher = launcher.find(self.study.run.launcher)
        for setup in setups:
            workload = self._workload(setup)
            check_ranks(workload, setup.ranks)
            pair = pairs.choose(workload, setup.method, setup.format)
            if workload.program == "calculix":
                if (found := shutil.which("ccx")) is None:
                    raise TailraceError("there is no ccx, the program of this workload", "apt-get install calculix-ccx")
                self.program = Path(found)
            else:
                self._built = kernels.prepare(self._launcher.mpi, pair, tell)
                self.program = self._built.program(workload.program)

    def run(self, number: int, setup: Setup, directory: Path) -> Result:
        """One run, whose output goes to `directory`. Raises StoppedError where we were asked to end meanwhile."""
        workload = self._workload(setup)
        try:
            if workload.program == "calculix":
                return self._calculix(workload, setup)
            return self._kernel(workload, number, setup, directory)
        finally:
            leftovers.end_of_run(self.targets.processes_mark)

    def _workload(self, setup: Setup) -> Workload:
        """In the combination's size and with the keys that it sets."""
        key = json.dumps([setup.size, dict(setup.set)], default=str)
        if key not in self._workloads:
            workload = loader.load(self.word)
            size = setup.size or workload.default_size
            if size not in workload.size:
                raise TailraceError(
                    f"{workload.name} has no size {printable(size)!r}", f"its sizes are {', '.join(workload.size)}"
                )
            self._workloads[key] = _sized(workload, size, setup.set)
        return self._workloads[key]

    def _kernel(self, workload: Workload, number: int, setup: Setup, directory: Path) -> Result:
        files = self.targets.workspace_path(setup.target) / run_name(number)
        try:
            self.targets.workspace(setup.target)
            shutil.rmtree(files, ignore_errors=True)
            files.mkdir()
            inputs = self._inputs(workload, number, setup, directory) if plans.prepares(workload) else files
            choices = self._choices(workload, setup, files, inputs)
            state = self._cache(inputs, setup)
            outcome, seen = self._execute(workload, choices, directory)
            return self._result(outcome, seen, state)
        except BenchStoppedError:
            raise StoppedError from None
        except FailedRunError as error:
            return Result(_status(error), error.message)
        except OSError as error:
            return Result(FAILED, f"{printable(str(error.filename or files))}: {error.strerror}")
        finally:
            if not self.keep:
                shutil.rmtree(files, ignore_errors=True)

    def _choices(self, workload: Workload, setup: Setup, files: Path, inputs: Path) -> plans.Choices:
        method, format_ = pairs.choose(workload, setup.method, setup.format)
        return plans.Choices(
            ranks=setup.ranks,
            method=method,
            format=format_,
            directory=files,
            read_directory=inputs,
            hints=setup.hints,
            settings=setup.settings,
            cold=self.study.cache == "cold",
            fingerprints=self.study.run.verify,
            all_interfaces=isinstance(workload.parameters, Transfers) and setup.format is None,
        )

    def _inputs(self, workload: Workload, number: int, setup: Setup, directory: Path) -> Path:
        """What the workload reads, prepared and verified now where it was not yet."""
        method, format_ = pairs.choose(workload, setup.method, setup.format)
        # Only of a file per rank does it matter how many there are.
        ranks = setup.ranks if method == "file-per-rank" else 1
        key = json.dumps([workload.model_dump(mode="json"), method, format_, ranks, setup.hints, setup.settings])
        space = self.targets.workspace(setup.read_target)
        ready = space / f"input-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        if not ready.is_dir():
            partial = space / f".{ready.name}.{run_name(number)}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            self._prepare(workload, dataclasses.replace(setup, ranks=ranks), partial, directory)
            _become(partial, ready)
        return ready

    def _prepare(self, workload: Workload, setup: Setup, place: Path, directory: Path) -> None:
        choices = self._choices(workload, setup, place, place)
        notes = directory / "prepare"
        notes.mkdir(exist_ok=True)
        outcome, _ = self._execute(workload, choices, notes, prepare=True)
        problem = self._wrong(outcome.records)
        if problem:
            raise FailedRunError(f"what is to be read was not prepared well: {problem}")

    def _cache(self, inputs: Path, setup: Setup) -> str:
        for name in dict.fromkeys((setup.target, setup.read_target)):
            page_cache.flush(self.targets.directory(name))
        if self.study.cache == "as-is":
            return "as is"
        files = page_cache.files_below(inputs)
        return page_cache.make_cold(files) if self.study.cache == "cold" else page_cache.make_warm(files)

    def _execute(
        self, workload: Workload, choices: plans.Choices, notes: Path, prepare: bool = False
    ) -> tuple[Outcome, dict[str, Any] | None]:
        """The run, and what its trace says where it is captured. Raises FailedRunError where it has no proper end."""
        command = self._command(workload, choices, notes, prepare)
        environment = self._launcher.environment(choices.ranks) | {leftovers.MARK: self.targets.processes_mark}
        capture = None
        if self.study.run.capture and not prepare:
            capture = captured.prepare(command, [self._launcher.mpi], notes, workload.name, notes, tell)
            environment |= capture.environment
        limit = self.study.run.time_limit_s
        outcome = execute(command, environment, notes, limit, lambda _record: None)
        seen = captured.finish(capture, page=False) if capture is not None else None
        check(outcome, workload.program, limit)
        return outcome, seen

    def _command(self, workload: Workload, choices: plans.Choices, notes: Path, prepare: bool) -> list[str]:
        assert self._built is not None
        plans.write(notes / "plan", plans.plan(workload, choices, prepare))
        program = str(self._built.program(workload.program))
        words = [program, "--plan", str(notes / "plan"), "--records", str(notes / "records")]
        return self._launcher.command(choices.ranks, words)

    def _result(self, outcome: Outcome, seen: dict[str, Any] | None, state: str) -> Result:
        of_run = bench_figures.of_run(outcome.records)
        problem = self._wrong(outcome.records) if self.study.run.verify else ""
        return Result(
            WRONG if problem else DONE,
            problem,
            figures.numbers(of_run, seen) | {"launch_to_end_s": outcome.elapsed_s},
            (not problem) if self.study.run.verify else None,
            list(figures.phases(of_run)),
            of_run | {"capture": seen},
            state,
        )

    def _wrong(self, records: Records) -> str:
        """What is not as the program meant it to be, in a sentence; empty where all is right."""
        told = [f"{check['stream']}: {check['what']}" for check in records["check"] if not check["ok"]]
        if self.study.run.verify:
            verify.drop_cached(verify.all_files(records))
            told += [str(one) for one in verify.verify(records, lambda _bytes, _what: None).differences]
        more = f"; and {len(told) - DIFFERENCES_TOLD} more" if len(told) > DIFFERENCES_TOLD else ""
        return printable("; ".join(told[:DIFFERENCES_TOLD])) + more

    def _calculix(self, workload: Workload, setup: Setup) -> Result:
        """CalculiX is one process, whose ranks are threads; it always runs under capture."""
        from tailrace.bench import calculix

        run = self.study.run
        wishes = Wishes(setup.size or workload.default_size, 1, run.verify, False, run.time_limit_s)
        threads = setup.threads if setup.threads > 1 else setup.ranks
        os.environ[leftovers.MARK] = self.targets.processes_mark
        page_cache.flush(self.targets.directory(setup.target))
        try:
            answer = calculix.answer(
                workload, threads, self.targets.workspace(setup.target), self.keep, self.study.cache == "cold", wishes
            )
        except BenchStoppedError:
            raise StoppedError from None
        except FailedRunError as error:
            return Result(_status(error), error.message)
        finally:
            del os.environ[leftovers.MARK]
        return _of_calculix(answer["runs"][0], run.verify)


def _become(partial: Path, ready: Path) -> None:
    """Another block may have made the same meanwhile."""
    try:
        partial.rename(ready)
    except OSError:
        if not ready.is_dir():
            raise
        shutil.rmtree(partial, ignore_errors=True)


def _status(error: FailedRunError) -> str:
    return TIMEOUT if isinstance(error, LateRunError) else FAILED


def _of_calculix(one: Mapping[str, Any], verified: bool) -> Result:
    wrong = [difference["problem"] for check in one["verification"]["passes"] for difference in check["differences"]]
    return Result(
        WRONG if wrong else DONE,
        printable("; ".join(wrong[:DIFFERENCES_TOLD])),
        figures.of_calculix(one),
        (not wrong) if verified else None,
        details=one,
    )


def _sized(workload: Workload, size: str, changes: Mapping[str, object]) -> Workload:
    sized = loader.with_size(workload, size, dict(changes))
    if isinstance(sized, ValidationError):
        key, text = first_problem(sized)
        raise TailraceError(f"{workload.name}, {printable(str(key[0]))}: {printable(text)}", loader.REFERENCE)
    for key, text in loader.parameter_problems(sized):
        raise TailraceError(f"{workload.name}, {printable(str(key[0]))}: {printable(text)}", loader.REFERENCE)
    return sized
