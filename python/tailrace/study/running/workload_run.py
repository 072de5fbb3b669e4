"""Runs a workload as `tailrace bench` does, one run at a time.

What a run reads is prepared once for all runs that read the same in the same place, and verified
like any output. What it writes is read back once, after it was dropped from the page cache, and
then removed.
"""

import dataclasses
import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tailrace.bench import loader, pairs, programs
from tailrace.bench.failures import FailedRunError, InterruptedRunError, LateRunError
from tailrace.bench.one_run import Conditions, Outcome, Pass, one_run
from tailrace.bench.placement import Placement
from tailrace.bench.plan import Choices
from tailrace.bench.programs.program import Installed
from tailrace.bench.workload import Workload
from tailrace.names import printable
from tailrace.study.definition.columns import RunStatus
from tailrace.study.definition.model import StudyDefinition
from tailrace.study.definition.setups import Setup
from tailrace.study.running import figures, leftovers, page_cache, placing
from tailrace.study.running.results import Result, StoppedError
from tailrace.study.running.targets import Targets, run_name
from tailrace.study.running.workloads import Workloads

PROBLEMS_SHOWN = 3


@dataclass
class WorkloadRuns:
    """Executes the combinations of a study that has a workload. `word`: its name, or the path of
    its file."""

    study: StudyDefinition
    targets: Targets
    word: str
    keep: bool = False
    program: Path | None = None
    _installed: Installed | None = None
    workloads: Workloads = field(init=False)

    def __post_init__(self) -> None:
        self.workloads = Workloads(self.word)

    def check(self, setups: list[Setup]) -> None:
        """What would fail in every run is reported before the first; the kernels are compiled where
        they were not yet."""
        for setup in setups:
            workload = self.workloads.of(setup)
            loader.check_ranks(workload, setup.ranks)
            pair = pairs.choose(workload, setup.method, setup.format)
            self._installed = programs.of(workload).find(self.study.run.launcher, pair)
            self.program = self._installed.path
            if (placed := placing.placement(self.study, setup)) is not None:
                placed.check()
                if self._installed.launcher is None:
                    placed.check_alone(workload.name)

    def run(self, number: int, setup: Setup, directory: Path) -> Result:
        """One run, whose output goes to `directory`. Raises StoppedError where we were asked to end
        meanwhile."""
        files = self.targets.workspace_path(setup.target) / run_name(number)
        try:
            self.targets.workspace(setup.target)
            shutil.rmtree(files, ignore_errors=True)
            files.mkdir()
            return self._run(number, setup, files, directory)
        except InterruptedRunError:
            raise StoppedError from None
        except FailedRunError as error:
            status = RunStatus.TIMEOUT if isinstance(error, LateRunError) else RunStatus.FAILED
            return Result(status, error.message)
        except OSError as error:
            return Result(
                RunStatus.FAILED, f"{printable(str(error.filename or files))}: {error.strerror}"
            )
        finally:
            leftovers.end_of_run(self.targets.processes_mark)
            if not self.keep:
                shutil.rmtree(files, ignore_errors=True)

    def _run(self, number: int, setup: Setup, files: Path, directory: Path) -> Result:
        workload = self.workloads.of(setup)
        prepares = programs.of(workload).prepares(workload)
        inputs = self._inputs(workload, number, setup, directory) if prepares else files
        choices = self._choices(workload, setup, files, inputs)
        state = self._cache(inputs, setup)
        trace_directory = directory if self.study.run.capture else None
        placed = placing.placement(self.study, setup)
        conditions = self._conditions(placed)
        outcome = one_run(workload, choices, conditions, directory, trace_directory)
        verify = self.study.run.verify
        problem = _sentence(outcome) if verify else ""
        return Result(
            RunStatus.WRONG if problem else RunStatus.DONE,
            problem,
            figures.numbers(outcome),
            (not problem) if verify else None,
            list(figures.phases(outcome.figures)),
            outcome.figures | {"capture": outcome.capture},
            state,
            placement=str(placed or ""),
        )

    def _conditions(self, placed: Placement | None = None) -> Conditions:
        assert self._installed is not None
        run, launcher = self.study.run, self._installed.launcher
        mark = {leftovers.MARK: self.targets.processes_mark}
        installed, alone = self._installed, launcher is None and placed is not None
        if placed is not None and launcher is not None:
            words = placed.launcher(launcher.words, launcher.mpi.soname)
            installed = dataclasses.replace(
                installed, launcher=dataclasses.replace(launcher, words=words)
            )
        return Conditions(
            installed,
            enter=placed.on.enter if alone and placed is not None else (),
            environment=mark | dict(placed.environment() if placed is not None else {}),
            time_limit_s=run.time_limit_s,
            passes=(Pass.FROM_DISK,) if run.verify else (),
        )

    def _choices(self, workload: Workload, setup: Setup, files: Path, inputs: Path) -> Choices:
        program = programs.of(workload)
        method, format_ = pairs.choose(workload, setup.method, setup.format)
        return Choices(
            # CalculiX's ranks are threads, which may be a factor of their own.
            ranks=setup.threads if program.threaded and setup.threads > 1 else setup.ranks,
            method=method,
            format=format_,
            directory=files,
            read_directory=inputs,
            hints=setup.hints,
            settings=setup.settings,
            cold=setup.cache == "cold",
            fingerprints=self.study.run.verify,
            all_interfaces=program.covers_all_formats and setup.format is None,
        )

    def _inputs(self, workload: Workload, number: int, setup: Setup, directory: Path) -> Path:
        """What the workload reads, prepared and verified now where it was not yet."""
        method, format_ = pairs.choose(workload, setup.method, setup.format)
        # Only of a file per rank does it matter how many there are.
        ranks = setup.ranks if method == "file-per-rank" else 1
        key = json.dumps(
            [workload.model_dump(mode="json"), method, format_, ranks, setup.hints, setup.settings]
        )
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
        notes = directory / "prepare"
        notes.mkdir(exist_ok=True)
        choices = self._choices(workload, setup, place, place)
        problem = _sentence(one_run(workload, choices, self._conditions(), notes, prepare=True))
        if problem:
            raise FailedRunError(f"the input was not prepared correctly: {problem}")

    def _cache(self, inputs: Path, setup: Setup) -> str:
        for name in dict.fromkeys((setup.target, setup.read_target)):
            page_cache.flush(self.targets.directory(name))
        if setup.cache == "as-is":
            return "as is"
        files = list(page_cache.files_below(inputs))
        return page_cache.make(setup.cache, files, placing.placement(self.study, setup))


def _sentence(outcome: Outcome) -> str:
    """What is wrong, or an empty string."""
    problems = outcome.problems
    left = len(problems) - PROBLEMS_SHOWN
    more = f"; and {left} more" if left > 0 else ""
    return printable("; ".join(problems[:PROBLEMS_SHOWN])) + more


def _become(partial: Path, ready: Path) -> None:
    """Another block may have made the same meanwhile."""
    try:
        partial.rename(ready)
    except OSError:
        if not ready.is_dir():
            raise
        shutil.rmtree(partial, ignore_errors=True)
