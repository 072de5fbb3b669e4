"""Blocks that other processes make, one or several at a time: batch jobs (slurm), or processes here
(side_by_side).

Each is a runner of one block (`tailrace study block`), which makes the block's runs one after the
other and stores them itself. One that ended before its block was done is followed by another, as
long as each brings at least one run.
"""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.study.running.plan import Plan
from tailrace.study.running.store import Store

FOLDER = "blocks"
# One that has ended may write its last words a moment later.
LAST_WORDS = 600


@dataclass
class Jobs(ABC):
    """The jobs of one study. `more`: options of `tailrace study block`."""

    store: Store
    plan: Plan
    more: tuple[str, ...] = ()

    def blocks(self, missing: Mapping[int, Callable[[], int]], look: Callable[[], None]) -> None:
        """Has these blocks made, all at one time. `missing` counts what a block lacks, from what is
        stored; `look` is called now and then. Raises TailraceError where a job makes no run.
        """
        before = {number: count() for number, count in missing.items()}
        jobs = {number: self._begun(number) for number, left in before.items() if left}
        while jobs:
            time.sleep(self.poll_s)
            look()
            for number in [number for number, job in jobs.items() if not self._lives(number, job)]:
                left = missing[number]()
                if left == before[number]:
                    raise self._made_none(number, jobs[number])
                before[number] = left
                jobs |= {number: self._start(number)} if left else {}
                if not left:
                    del jobs[number]

    def _begun(self, number: int) -> Any:
        job = self._under_way(number)
        return self._start(number) if job is None else job

    def _made_none(self, number: int, job: Any) -> TailraceError:
        return TailraceError(
            f"{self._name(job)} of block {number} made no run: {self._said(number)}",
            f"its whole output is in {printable(str(self._file(number, 'out')))}",
        )

    def _words(self, number: int) -> list[str]:
        return [
            sys.executable,
            "-m",
            "tailrace",
            "study",
            "block",
            str(self.store.directory),
            str(number),
            *self.more,
        ]

    def _file(self, number: int, ending: str) -> Path:
        folder = self.store.directory / FOLDER
        folder.mkdir(exist_ok=True)
        return folder / f"block-{number:04}.{ending}"

    def _said(self, number: int) -> str:
        try:
            text = self._file(number, "out").read_text("utf-8", "replace").strip()
        except OSError:
            text = ""
        return printable(" ".join(text.split()))[-LAST_WORDS:] or "it said nothing"

    # --- what differs

    @property
    @abstractmethod
    def poll_s(self) -> float:
        """How long to wait before looking again."""

    @abstractmethod
    def check(self) -> None:
        """Raises TailraceError where there can be no such jobs here."""

    @abstractmethod
    def cancel(self) -> None:
        """Ends what is under way, and returns when it has ended."""

    @abstractmethod
    def _under_way(self, number: int) -> Any:
        """The job of an earlier start that still makes this block; None where there is none."""

    @abstractmethod
    def _start(self, number: int) -> Any:
        """A new job for this block."""

    @abstractmethod
    def _lives(self, number: int, job: Any) -> bool:
        """Whether it has not ended."""

    @abstractmethod
    def _name(self, job: Any) -> str:
        """As people call it."""
