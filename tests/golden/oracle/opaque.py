"""Files below whose MPI-IO nothing is seen, by helper threads, say: the MPI-IO call is I/O itself
(decision 0001)."""

from __future__ import annotations

import re

from tests.golden.oracle.calls import Call, Recorded
from tests.golden.oracle.meetings import Meetings

BY_MPIIO = re.compile(r"MPI_File_i?(read|write)", re.I)
# An asynchronous request only starts: its data move out of sight.
SHOWN = re.compile(r"(f?(read|write)|p?(read|write)v?(64)?2?|f?(put|get)[cs]|f?(print|scan)f)")


class Opaque:
    def __init__(self, recorded: Recorded, meetings: Meetings) -> None:
        self.meetings = meetings
        moved, shown = set(), set()
        for calls in recorded.main:
            around: list[Call] = []
            for call in calls:
                while around and call.begin >= around[-1].end:
                    around.pop()
                if call["bytes"] and call["layer"] == "mpiio" and BY_MPIIO.match(call.name):
                    moved.add(call["file"])
                elif call["bytes"] and call["layer"] in {"posix", "stdio"}:
                    shown |= self.shown_by(call, around)
                around.append(call)
        self.files = moved - shown
        self.requests = {
            call["request"] for call in recorded.all if self.is_opaque(call) and call.starts
        }

    @staticmethod
    def shown_by(call: Call, around: list[Call]) -> set[str]:
        """A data call inside a read or write by MPI-IO shows that one's file; inside any call of
        MPI its own."""
        if not SHOWN.fullmatch(call.name) or not around:
            return set()
        files = {other["file"] for other in around if BY_MPIIO.match(other.name)}
        return {call["file"], *files}

    def is_opaque(self, call: Call) -> bool:
        return call["layer"] == "mpiio" and call["file"] in self.files

    def is_wait(self, call: Call) -> bool:
        """A wait that completes only requests of opaque files is I/O."""
        return bool(call["completes"]) and set(call["completes"]) <= self.requests

    def begins(self, call: Call) -> int | None:
        """From when on the call itself is I/O: a collective one when the last has come."""
        if self.is_wait(call) or (self.is_opaque(call) and not call.is_collective_on_file):
            return call.begin
        return self.entry(call) if self.is_opaque(call) else None

    def entry(self, call: Call) -> int | None:
        last = max(other.begin for other in self.meetings.calls[self.meetings.of[call]])
        return last if last < call.end else None
