"""The directory of a study.

study.toml, plan.json     what is to be run, written before the first run
model-NAME.toml           the model of a target that is simulated
environment.json          where
runs.jsonl one line per finished run, appended and brought to the disk at once: the truth
runs/000012/ what one run said runs.parquet, runs.csv, phases.parquet, phases.csv, report.html made
from runs.jsonl, at any time again lock, block-0003.lock held by the one who runs blocks/ what
blocks said that were made by other processes; slurm.json has the numbers of batch jobs

Everything else appears under its name when it is whole. A line that a killed runner left half is
cut off by the next.
"""

import contextlib
import fcntl
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import json_line

STUDY, PLAN, ENVIRONMENT, RUNS, LOCK = (
    "study.toml",
    "plan.json",
    "environment.json",
    "runs.jsonl",
    "lock",
)
REPORT = "report.html"
RUN_DIRECTORIES = "runs"
Line = dict[str, Any]


class Store:
    """One study's directory. Whoever writes holds the lock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.runs_path = self.directory / RUNS

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """The directory, which goes again where nothing comes of it."""
        try:
            (self.directory / RUN_DIRECTORIES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TailraceError(
                f"{printable(str(self.directory))} cannot be written: {error.strerror}",
                "choose another directory with -o",
            ) from None
        try:
            yield
        finally:
            if not self.has(PLAN):
                self._remove_empty()

    def _remove_empty(self) -> None:
        with contextlib.suppress(OSError):
            for name in (LOCK, ENVIRONMENT):
                (self.directory / name).unlink(missing_ok=True)
            (self.directory / RUN_DIRECTORIES).rmdir()
            self.directory.rmdir()

    def run_directory(self, run: int) -> Path:
        return self.directory / RUN_DIRECTORIES / f"{run:06}"

    @contextlib.contextmanager
    def lock(self, name: str = LOCK) -> Iterator[None]:
        """Refused where another runner has it. The kernel lets go of it when its holder ends,
        however it ends."""
        with (self.directory / name).open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = printable(file.read(200).strip()) or "another process"
                raise TailraceError(
                    f"{printable(str(self.directory))}: this study is already running, in {holder}",
                    "wait for it or end it; two at a time would disturb each other's measurements",
                ) from None
            file.truncate(0)
            file.write(f"process {os.getpid()} on {os.uname().nodename}")
            file.flush()
            yield

    def write(self, name: str, text: str) -> None:
        """Under its name when it is whole and on the disk."""
        durable_write(self.directory / name, text)

    def read_json(self, name: str) -> dict[str, Any]:
        path = self.directory / name
        try:
            return json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise TailraceError(
                f"{printable(str(path))} cannot be read: {error.strerror}"
            ) from None
        except ValueError as error:
            raise TailraceError(
                f"{printable(str(path))} is not valid JSON: {printable(str(error))}"
            ) from None

    def has(self, name: str) -> bool:
        return (self.directory / name).is_file()

    def append(self, line: Line) -> None:
        """One finished run. It is on the disk when this returns. Several blocks may append at one
        time."""
        data = json_line(line).encode() + b"\n"
        existed = self.runs_path.exists()
        with self.runs_path.open("a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _cut_half_line(file)
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
        if not existed:
            _sync_directory(self.directory)

    def bytes_stored(self) -> int:
        """Of the finished runs."""
        return self.runs_path.stat().st_size if self.runs_path.exists() else 0

    def runs(self) -> list[Line]:
        """The finished runs in the order in which they were made, without those that were set
        aside. Of a study that is running: those so far."""
        found: dict[int, Line] = {}
        for line in self._lines():
            found.pop(line["run"], None)
            if not line.get("set_aside"):
                found[line["run"]] = line
        return list(found.values())

    def set_aside(self, runs: Iterable[int]) -> None:
        """So that they are made again. What they were stays in the file."""
        known = {line["run"] for line in self.runs()}
        for run in runs:
            if run not in known:
                raise TailraceError(
                    f"{printable(str(self.directory))} has no run {run}",
                    "the column `run` of runs.csv has their numbers",
                )
            self.append({"run": run, "set_aside": True})

    def _lines(self) -> Iterator[Line]:
        try:
            with self.runs_path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if line.endswith(b"\n"):
                        yield self._parsed(line, number)
        except FileNotFoundError:
            return

    def _parsed(self, line: bytes, number: int) -> Line:
        try:
            value = json.loads(line)
            if isinstance(value, dict) and isinstance(value.get("run"), int):
                return value
        except ValueError:
            pass
        raise TailraceError(
            f"{printable(str(self.runs_path))}, line {number} is not a finished run",
            "restore the file, or delete this line to repeat the run",
        )


def _cut_half_line(file: io.FileIO) -> None:
    """What a killed runner left of its last line. Only for who holds the file's lock."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read(1) in (b"", b"\n"):
        return
    file.seek(0)
    file.truncate(file.readall().rfind(b"\n") + 1)


def durable_write(path: Path, text: str) -> None:
    with durable_replace(path) as partial:
        partial.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def durable_replace(path: Path) -> Iterator[Path]:
    """Gives another name to write to, which becomes the file's own when all of it is on the
    disk."""
    partial = path.with_name(f".{path.name}.{os.uname().nodename}-{os.getpid()}.partial")
    yield partial
    descriptor = os.open(partial, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    partial.replace(path)
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    """A new name is on the disk only when its directory is."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
