"""What `tailrace bench` must know of a program to run it: what it is started with, how it is
started, and how one sees whether its output is right."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.bench.execute import Ending
from tailrace.bench.launcher import Launcher
from tailrace.bench.plan import Choices
from tailrace.bench.verify import OnRead, Verification
from tailrace.bench.workload import Workload
from tailrace.capture.mpi import Installation

Pair = tuple[str, str]


@dataclass(frozen=True)
class Installed:
    """A program on this machine. `launcher`: None where it runs without MPI."""

    path: Path
    launcher: Launcher | None = None


@dataclass(frozen=True)
class Command:
    """What is executed. `installations`: the MPIs whose calls a capture of it records."""

    words: list[str]
    environment: dict[str, str]
    directory: Path
    installations: list[Installation]


class Program(ABC):
    """One of the programs that a workload can name. It has no state of its own."""

    # Whether [[output]] and [[input]] of the workload say what its files hold.
    described_files = False
    # Whether its figures come from a trace, so that it always runs under capture.
    always_captured = False
    # Whether its ranks are threads of one process.
    threaded = False
    # Whether one run does all formats where the user names none.
    covers_all_formats = False
    # Whether it ends by itself, and with a sentence, at the time limit that its plan states.
    knows_time_limit = False

    def problems(self, _workload: Workload) -> Iterator[tuple[str, str]]:
        """What does not go together in the program's own table: key and sentence."""
        yield from ()

    def prepares(self, _workload: Workload) -> bool:
        """Whether files must be there before the run, which reads them."""
        return False

    @abstractmethod
    def find(self, mpiexec: str | None, pair: Pair) -> Installed:
        """Where it is, compiled now where it was not yet. Raises TailraceError without it."""

    @abstractmethod
    def plan(
        self, workload: Workload, choices: Choices, notes: Path, prepare: bool = False
    ) -> None:
        """Writes what the program is started with. `prepare`: for the run that writes what the
        workload reads."""

    @abstractmethod
    def command(self, installed: Installed, choices: Choices, notes: Path) -> Command:
        """After its plan was written."""

    @abstractmethod
    def check(self, workload: Workload, choices: Choices, ending: Ending) -> None:
        """Raises FailedRunError where it came to an end, but not to that of its work."""

    @abstractmethod
    def figures(
        self, choices: Choices, ending: Ending, capture: dict[str, Any] | None
    ) -> dict[str, Any]:
        """What docs/schema/bench.json has of the run, beside verification and capture."""

    @abstractmethod
    def written(self, choices: Choices, ending: Ending) -> list[Path]:
        """The files to verify."""

    @abstractmethod
    def bytes_to_verify(self, choices: Choices, ending: Ending) -> int:
        """Of one pass."""

    @abstractmethod
    def verify(
        self, workload: Workload, choices: Choices, ending: Ending, on_read: OnRead
    ) -> Verification:
        """Reads everything that the run wrote."""
