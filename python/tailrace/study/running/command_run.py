"""Runs a command of the user's: its words with the placeholders filled, started by itself or by a
launcher, never by a shell unless the study asks for one.
"""

import math
import os
import re
import resource
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tailrace.bench import captured
from tailrace.bench.execute import Ending, Stopped, execute
from tailrace.bench.launcher import OPEN_MPI_AS_ROOT, OPEN_MPI_CROWDED, compiler_of, cores
from tailrace.capture.launch import executable, read_command
from tailrace.capture.mpi import for_command
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.study.definition import placeholders
from tailrace.study.definition.columns import RunStatus
from tailrace.study.definition.model import StudyDefinition
from tailrace.study.definition.setups import Setup
from tailrace.study.running import leftovers, page_cache, placing, results
from tailrace.study.running.program import mark
from tailrace.study.running.results import Number, Result, StoppedError
from tailrace.study.running.targets import Targets, run_name
from tailrace.terminal import tell

SAID_AT_MOST = 300
SHELL = "/bin/sh"
# What these stand for follows from the level, and is not the level itself.
PLACES = frozenset(("target", "read_target", "directory", "ranks", "nodes", "threads", "run"))
# Of stdout, as much as is searched for numbers.
SEARCHED_BYTES = 16 << 20


@dataclass(frozen=True)
class CommandRuns:
    """Executes the combinations of a study that has a command. `started_in`: where its words are
    relative to."""

    study: StudyDefinition
    targets: Targets
    started_in: Path
    keep: bool = False
    program: Path | None = None

    def check(self, setups: list[Setup]) -> None:
        """What would fail in every run is reported before the first."""
        for setup in setups:
            if (placed := placing.placement(self.study, setup)) is not None:
                placed.check()
            self._launcher(setup)
        for name in sorted({word for setup in setups if (word := self._program(setup))}):
            if executable(str(self._from_start(name))) is None:
                raise TailraceError(
                    f"there is no program {printable(name)}",
                    "run.command says what is run; its first word is looked up",
                )

    def run(self, number: int, setup: Setup, directory: Path) -> Result:
        """One run, whose output goes to `directory`. Raises StoppedError where we were asked to end
        meanwhile."""
        try:
            return self._run(number, setup, directory)
        except OSError as error:
            return Result(
                RunStatus.FAILED, f"{printable(str(error.filename or 'the run'))}: {error.strerror}"
            )

    def _run(self, number: int, setup: Setup, directory: Path) -> Result:
        with self._places(number, setup, directory) as values:
            state = self._cache(setup, values)
            words = self._words(setup, values)
            program = mark(self._program_words(words), self._working_directory(values))
            capture = self._capture(words, directory)
            ending = self._execute(words, setup, values, directory, capture)
            if ending.stopped is Stopped.INTERRUPTED:
                raise StoppedError
            seen = captured.finish(capture, page=False) if capture is not None else None
            status, reason, printed = self._ending(ending, values, directory)
            numbers = _usage(ending) | results.of_capture(seen) | results.of_files(seen) | printed
            details = {"status": ending.status, "capture": seen}
            return Result(
                status,
                reason,
                numbers,
                details=details,
                cache=state,
                program=program,
                placement=str(placing.placement(self.study, setup) or ""),
            )

    def _program_words(self, words: list[str]) -> list[str]:
        """Those that may name programs: of a shell's text all that look like words."""
        if not self.study.run.shell:
            return words
        try:
            return shlex.split(words[-1], comments=True)
        except ValueError:
            return words

    def _execute(
        self,
        words: list[str],
        setup: Setup,
        values: Mapping[str, str],
        directory: Path,
        capture: captured.Capture | None,
    ) -> Ending:
        environment = self._environment(setup, values) | (
            capture.environment if capture is not None else {}
        )
        place, limit = self._working_directory(values), self.study.run.time_limit_s
        return execute(
            words, environment, directory, limit, lambda _record: None, place, errors_apart=True
        )

    def _ending(
        self, ending: Ending, values: Mapping[str, str], directory: Path
    ) -> tuple[RunStatus, str, dict[str, Number]]:
        """How it ended, why, and the numbers that it printed where it did all that it should."""
        if ending.stopped:
            limit = self.study.run.time_limit_s
            return (
                RunStatus.TIMEOUT,
                f"it was not over after {limit:g} s, and all its processes were ended",
                {},
            )
        if ending.status != 0:
            return RunStatus.FAILED, _why(ending.status, directory / "errors"), {}
        printed, missing = self._printed(ending.output)
        missing += [f"there is no file {printable(name)}" for name in self._absent(values)]
        return RunStatus.WRONG if missing else RunStatus.DONE, "; ".join(missing), printed

    def _program(self, setup: Setup) -> str:
        """The first word where it is the same in every run of the combination; empty for a shell's
        text."""
        command = self.study.run.command
        if not isinstance(command, list) or set(placeholders.names(command[0])) - set(setup.levels):
            return ""
        return placeholders.filled(
            command[0], {name: " ".join(some) for name, some in self._arguments(setup).items()}
        )

    def _from_start(self, word: str) -> Path | str:
        return self.started_in / word if "/" in word else word

    @contextmanager
    def _places(self, number: int, setup: Setup, directory: Path) -> Iterator[dict[str, str]]:
        """The run's own directories, which go when it is over; gives what the placeholders stand
        for."""
        scratch = directory / "scratch"
        target = self.targets.workspace(setup.target) / run_name(number)
        for path in (scratch, target):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir(parents=True)
        try:
            arguments = {name: " ".join(words) for name, words in self._arguments(setup).items()}
            yield arguments | {
                "target": str(target),
                "read_target": str(self.targets.directory(setup.read_target)),
                "directory": str(scratch),
                "ranks": str(setup.ranks),
                "nodes": str(setup.nodes or 1),
                "threads": str(setup.threads),
                "run": str(number),
            }
        finally:
            leftovers.end_of_run(self.targets.processes_mark)  # before what they use is removed
            for path in () if self.keep else (scratch, target):
                shutil.rmtree(path, ignore_errors=True)

    def _cache(self, setup: Setup, values: Mapping[str, str]) -> str:
        if setup.target is not None:
            page_cache.flush(self.targets.directory(setup.target))
        if setup.cache == "as-is":
            return "as is"
        paths = [
            self._working_directory(values) / placeholders.filled(text, values)
            for text in self.study.run.reads
        ]
        files = [file for path in paths for file in page_cache.files_below(path)]
        return page_cache.make(setup.cache, files, placing.placement(self.study, setup))

    def _words(self, setup: Setup, values: Mapping[str, str]) -> list[str]:
        command = self.study.run.command
        several = {
            name: words for name, words in self._arguments(setup).items() if name not in PLACES
        }
        if isinstance(command, str):
            words = [SHELL, "-c", placeholders.shell_filled(command, values, several)]
        else:
            words = placeholders.words_filled(command or [], values, several)
            words[0] = str(self._from_start(words[0]))
        return [*self._launcher(setup), *words]

    def _arguments(self, setup: Setup) -> dict[str, list[str]]:
        """What each factor's level is on the command line."""
        return {
            name: self.study.factor[name].words(setup.levels, level)
            for name, level in setup.levels.items()
        }

    def _launcher(self, setup: Setup) -> list[str]:
        if self.study.run.launcher == "none":
            return []
        words = shlex.split(self.study.run.launcher)
        path = executable(words[0])
        if path is None:
            raise TailraceError(
                f"there is no launcher {printable(words[0])}",
                'run.launcher names another, or "none" for a program without MPI',
            )
        if (placed := placing.placement(self.study, setup)) is not None:
            words = [str(path.absolute()), *words[1:]]
            words = list(placed.launcher(tuple(words), compiler_of(path).soname))
        return [*words, "-n", str(setup.ranks)]

    def _environment(self, setup: Setup, values: Mapping[str, str]) -> dict[str, str]:
        """The runner's own, what Open MPI needs where it applies, and what the study
        says."""
        wanted: dict[str, str] = {}
        if self.study.run.launcher != "none":
            wanted |= OPEN_MPI_AS_ROOT if os.geteuid() == 0 else {}
            wanted |= OPEN_MPI_CROWDED if setup.ranks > cores() else {}
        wanted |= dict(os.environ) | {leftovers.MARK: self.targets.processes_mark}
        if (placed := placing.placement(self.study, setup)) is not None:
            wanted |= placed.environment()
        given = self.study.run.environment
        return wanted | {name: placeholders.filled(text, values) for name, text in given.items()}

    def _working_directory(self, values: Mapping[str, str]) -> Path:
        wanted = self.study.run.working_directory
        return (
            self.started_in
            if wanted is None
            else self.started_in / placeholders.filled(wanted, values)
        )

    def _capture(self, words: list[str], directory: Path) -> captured.Capture | None:
        if not self.study.run.capture:
            return None
        launch = read_command(words)
        scratch = directory / "scratch"
        return captured.prepare(words, for_command(launch), directory, launch.name, scratch, tell)

    def _printed(self, output: str) -> tuple[dict[str, Number], list[str]]:
        """The named numbers that stdout holds, the last of each counting, and what is not there."""
        numbers: dict[str, Number] = {}
        missing: list[str] = []
        for pattern in self.study.run.patterns:
            matches = list(re.finditer(pattern, output[:SEARCHED_BYTES], re.MULTILINE))
            if not matches:
                missing.append(f"the output does not match {printable(pattern)}")
                continue
            for name, text in matches[-1].groupdict().items():
                number = _number(text)
                if number is None:
                    missing.append(
                        f"the output's {name} is {printable(str(text))!r}, which is not a number"
                    )
                else:
                    numbers[name] = number
        return numbers, missing

    def _absent(self, values: Mapping[str, str]) -> list[str]:
        names = [placeholders.filled(text, values) for text in self.study.run.expected_files]
        return [name for name in names if not (self._working_directory(values) / name).is_file()]


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _usage(ending: Ending) -> dict[str, Number]:
    """A child's largest size counts what it was before it became the command, which is our own:
    below that nothing is known (setmax_mm_hiwater_rss in the kernel's exec).
    """
    numbers: dict[str, Number] = {
        "elapsed_s": ending.elapsed_s,
        "launch_to_end_s": ending.elapsed_s,
    }
    if ending.used is not None:
        numbers |= {"user_s": ending.used.ru_utime, "system_s": ending.used.ru_stime}
        if ending.used.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
            numbers["maximum_resident_bytes"] = ending.used.ru_maxrss * 1024
    return numbers


def _why(status: int, errors: Path) -> str:
    how = f"it was ended by signal {-status}" if status < 0 else f"it ended with status {status}"
    lines = [
        line.strip()
        for line in errors.read_text("utf-8", "replace").splitlines()
        if line.strip().strip("-=*")
    ]
    said = printable(" ".join(lines))[:SAID_AT_MOST]
    return f"{how}: {said}" if said else how
