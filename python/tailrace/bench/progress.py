"""How far a run is, on stderr: output steps, bytes and their rate, from the records as they
come."""

import time

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from tailrace.bench.records import Record
from tailrace.terminal import console
from tailrace.units import byte_count, rate

TRANSFER = ("write_s", "sync_s", "read_s")


class Meter:
    """A bar where it is wanted and stderr is a terminal; otherwise silent."""

    def __init__(self, label: str, shown: bool) -> None:
        err = console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[what]}"),
            TimeRemainingColumn(),
            console=err,
            transient=True,
            disable=not (shown and err.is_terminal),
        )
        self._label = label
        self._task: TaskID | None = None
        self._total = self._done = 0
        self._transfer_s = 0.0

    def __enter__(self) -> "Meter":
        self._progress.start()
        self._task = self._progress.add_task(self._label, total=None, what="starting")
        self._began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def record(self, record: Record) -> None:
        if record["kind"] == "stream":
            self._total += int(record.get("bytes", 0))
        elif record["kind"] == "step":
            self._done += int(record["bytes"])
            self._transfer_s += max(
                (sum(times) for times in zip(*(record[key] for key in TRANSFER), strict=True)),
                default=0,
            )
            self._show(f"{record['stream']}, step {record['step']}")

    def advance(self, bytes_more: int, what: str) -> None:
        """Of work of our own: verification."""
        self._done += bytes_more
        self._transfer_s = time.monotonic() - self._began
        self._show(what)

    def expect(self, total_bytes: int) -> None:
        self._total = total_bytes

    def _show(self, where: str) -> None:
        speed = f", {rate(self._done / self._transfer_s)}" if self._transfer_s > 0 else ""
        total = byte_count(max(self._total, self._done))
        what = f"{where}: {byte_count(self._done)} of {total}{speed}"
        if self._task is not None:
            self._progress.update(
                self._task, total=self._total or None, completed=self._done, what=what
            )
