"""Verification: every element of every variable and step that a run wrote is read back by an
independent reader, and its fingerprint compared with that of what the program meant to write.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tailrace.bench import fingerprint
from tailrace.bench.readers import Written, files_of, open_file, stored
from tailrace.bench.records import Direction, Record, Records
from tailrace.errors import TailraceError
from tailrace.names import printable

OnRead = Callable[[int, str], None]


@dataclass(frozen=True)
class Mismatch:
    """One variable at one step of a file that is not what was meant. `step` counts the output's
    steps, from 0."""

    file: str
    stream: str
    variable: str
    step: int
    problem: str

    def __str__(self) -> str:
        return f"{self.file}: {self.variable}, step {self.step}: {self.problem}"


@dataclass
class Verification:
    """What was compared and what differs."""

    variables: int = 0  # times steps
    bytes_read: int = 0
    files: int = 0
    differences: list[Mismatch] = field(default_factory=list)

    def add(self, other: "Verification") -> None:
        self.variables += other.variables
        self.bytes_read += other.bytes_read
        self.files += other.files
        self.differences += other.differences


@dataclass(frozen=True)
class Claim:
    """What a program meant one step in one file to be: fingerprints by variable."""

    path: Path
    stream: str
    step: int
    step_in_file: int
    values: dict[str, str]


def claims(records: Records) -> dict[Path, list[Claim]]:
    """By file. Of what was written over and over, the last counts."""
    last: dict[tuple[str, int], Claim] = {}
    for record in records["fingerprint"]:
        if record["direction"] == Direction.WRITE:
            claim = Claim(
                Path(record["path"]),
                record["stream"],
                record["step"],
                record["step_in_file"],
                record["values"],
            )
            last[record["path"], record["step_in_file"]] = claim
    by_file: dict[Path, list[Claim]] = {}
    for claim in last.values():
        by_file.setdefault(claim.path, []).append(claim)
    return by_file


def bytes_expected(records: Records) -> int:
    """What is to be read once to verify everything."""
    total = 0
    for of_file in claims(records).values():
        for claim in of_file:
            described = records.variables(claim.stream)
            total += sum(_bytes(described[name]) for name in claim.values if name in described)
    return total


def _bytes(variable: Record) -> int:
    return (
        int(np.prod(variable["size"], dtype=np.int64))
        * np.dtype(stored.DTYPES[variable["type"]]).itemsize
    )


def verify(records: Records, on_read: OnRead) -> Verification:
    """Everything that the records say was written."""
    streams = {
        record["stream"]: record
        for record in records.streams
        if record["direction"] == Direction.WRITE
    }
    ranks = records["start"][0]["ranks"]
    whole = Verification()
    for path, of_file in claims(records).items():
        name = of_file[0].stream
        written = Written(
            streams[name]["method"], streams[name]["format"], ranks, records.variables(name)
        )
        whole.add(_Check(path, written, on_read).claims(of_file))
    whole.differences += unclaimed(records)
    return whole


def unclaimed(records: Records) -> list[Mismatch]:
    """Steps that were written and of which the program does not say what they should be: they are
    not verified."""
    claimed = {
        (record["stream"], record["step"]) for record in records["fingerprint"] if record["values"]
    }
    return [
        Mismatch(
            printable(record["path"]),
            record["stream"],
            "*",
            record["step"],
            "it has no fingerprint",
        )
        for record in records["step"]
        if record["direction"] == Direction.WRITE
        and (record["stream"], record["step"]) not in claimed
    ]


class _Check:
    """One file, or one directory of a file per rank."""

    def __init__(self, path: Path, written: Written, on_read: OnRead) -> None:
        self.path, self.written, self.on_read = path, written, on_read
        self.result = Verification()

    def claims(self, of_file: list[Claim]) -> Verification:
        try:
            with contextlib.ExitStack() as stack:
                files = [stack.enter_context(file) for file in self._open()]
                self.result.files = len(files)
                for claim in of_file:
                    self._steps(claim, files)
                    for name, expected in claim.values.items():
                        self._variable(claim, name, expected, files)
            self._library(of_file[-1])
        except TailraceError as error:
            self._differs(of_file[0], "*", error.message)
        return self.result

    def _open(self) -> Iterator[stored.File]:
        paths = files_of(self.path)
        if not paths:
            raise TailraceError(f"there is no such file: {printable(str(self.path))}")
        yield from (open_file(path, self.written) for path in paths)

    def _steps(self, claim: Claim, files: list[stored.File]) -> None:
        for file in files:
            if file.steps <= claim.step_in_file:
                self._differs(
                    claim, "*", f"the file says that {file.steps} steps are whole", file.path
                )

    def _library(self, claim: Claim) -> None:
        """What the CGNS library itself says of a file in its format."""
        if self.written.format == "cgns":
            from tailrace.bench.readers.cgns import library_problems

            for path in files_of(self.path):
                for problem in library_problems(path):
                    self._differs(claim, "*", f"cgnscheck: {printable(problem)}", path)

    def _variable(self, claim: Claim, name: str, expected: str, files: list[stored.File]) -> None:
        found = [(file, file.variables[name]) for file in files if name in file.variables]
        if not found:
            self._differs(claim, name, "it is not in the file")
            return
        self.result.variables += 1
        for _, variable in found:
            if problem := _type_problem(variable, self.written.variables[name]):
                self._differs(claim, name, problem)
                return
        parts = [(file, variable) for file, variable in found if variable.part is not None]
        wholes = [pair for pair in found if pair[1].part is None]
        for group in ([parts] if parts else []) + [[pair] for pair in wholes]:
            self._compare(claim, name, expected, group)

    def _compare(
        self,
        claim: Claim,
        name: str,
        expected: str,
        group: list[tuple[stored.File, stored.StoredVariable]],
    ) -> None:
        """The files of the group have the variable together."""
        try:
            value = fingerprint.total(
                share
                for _, variable in group
                for share in stored.shares(variable, claim.step_in_file)
            )
        except (OSError, ValueError, IndexError, RuntimeError) as error:
            self._differs(
                claim, name, f"it cannot be read: {printable(str(error))}", group[0][0].path
            )
            return
        amount = _bytes(self.written.variables[name])
        self.result.bytes_read += amount
        self.on_read(amount, f"{claim.stream}, step {claim.step}")
        if value != expected:
            where = self.path if len(group) > 1 else group[0][0].path
            self._differs(
                claim, name, f"its fingerprint is {value}, and should be {expected}", where
            )

    def _differs(self, claim: Claim, name: str, problem: str, where: Path | None = None) -> None:
        text = printable(str(where or self.path))
        self.result.differences.append(Mismatch(text, claim.stream, name, claim.step, problem))


def _type_problem(variable: stored.StoredVariable, described: Record) -> str:
    """Whether it is stored with another type or shape than the program wrote."""
    wanted = np.dtype(stored.DTYPES[described["type"]])
    have = np.dtype(variable.dtype)
    if have.itemsize != wanted.itemsize or (have.kind == "f") != (wanted.kind == "f"):
        return f"it is stored as {have}, and should be {described['type']}"
    shape = variable.shape if variable.part is None else variable.part.shape
    if tuple(shape) != tuple(described["size"]):
        return f"its shape is {tuple(shape)}, and should be {tuple(described['size'])}"
    return ""


def all_files(records: Records) -> list[Path]:
    """All files that the run wrote and that are there."""
    return [file for path in claims(records) for file in files_of(path)]


def drop_cached(files: Iterable[Path]) -> bool:
    """Asks the system to forget the files' pages, so that the next read is from the disk; whether
    it took that."""
    for file in files:
        try:
            descriptor = os.open(file, os.O_RDONLY)
        except OSError:
            return False
        try:
            os.fsync(descriptor)  # pages that are not on the disk yet stay
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            return False
        finally:
            os.close(descriptor)
    return True
