"""What a kernel wrote down about its run: JSON lines, whose kinds and keys kernels/common/records.h
states."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class Direction(StrEnum):
    """Which way a stream's data go, in the words of the records."""

    WRITE = "write"
    READ = "read"

    @property
    def past(self) -> str:
        return "wrote" if self is Direction.WRITE else "read"

    @property
    def participle(self) -> str:
        return "written" if self is Direction.WRITE else "read"


PHASES = ("open", "define", "write", "sync", "close", "read")
Record = dict[str, Any]


@dataclass
class Records:
    """All records of a run, by kind, in the order in which they were written."""

    of_kind: dict[str, list[Record]] = field(default_factory=dict)

    def __getitem__(self, kind: str) -> list[Record]:
        return self.of_kind.get(kind, [])

    @property
    def end(self) -> Record | None:
        """The last record of a run that was not interrupted."""
        return self["end"][-1] if self["end"] else None

    @property
    def streams(self) -> list[Record]:
        return self["stream"]

    def of_stream(self, kind: str, stream: Record) -> list[Record]:
        """The records of a kind that belong to one row of files, in one direction."""
        key = (stream["stream"], stream["direction"])
        return [record for record in self[kind] if (record["stream"], record["direction"]) == key]

    def variables(self, stream: str) -> dict[str, Record]:
        return {
            record["variable"]: record for record in self["variable"] if record["stream"] == stream
        }

    def add(self, line: str) -> Record | None:
        """A line that a killed run left half is passed over."""
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            return None
        if not isinstance(record, dict) or "kind" not in record:
            return None
        if "direction" in record:
            record["direction"] = Direction(record["direction"])
        self.of_kind.setdefault(record["kind"], []).append(record)
        return record


class Follower:
    """Reads a records file as it grows: whole lines only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = Records()
        self._offset = 0

    def news(self) -> list[Record]:
        """What was written since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self._offset += len(whole)
        added = (self.records.add(line) for line in whole.decode("utf-8", "replace").splitlines())
        return [record for record in added if record is not None]


def read(path: Path) -> Records:
    follower = Follower(path)
    follower.news()
    return follower.records
