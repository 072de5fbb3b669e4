"""Which calls are one collective: the n-th of a rank on a communicator meets the n-th of others."""

from __future__ import annotations

from collections import defaultdict

from tests.golden.oracle.calls import FROM_ROOT, NEIGHBOURS, PREFIX, TO_ROOT, Call, Recorded

# Communicator, a window of it, layer, number.
Meeting = tuple[int, int | None, str, int]


class Meetings:
    def __init__(self, recorded: Recorded) -> None:
        self.of: dict[Call, Meeting] = {}
        self.calls: dict[Meeting, list[Call]] = defaultdict(list)
        numbers: dict[tuple, int] = defaultdict(int)
        for calls in recorded.main:
            for call in calls:
                if call.is_collective or call.is_collective_on_file:
                    group = call["communicator"], call["window"], call["layer"]
                    meeting = (*group, numbers[group, call.rank])
                    numbers[group, call.rank] += 1
                    self.of[call] = meeting
                    self.calls[meeting].append(call)

    def waited_for(self, call: Call) -> list[Call]:
        """Those without whose entry the call cannot end."""
        calls, rank = self.calls[self.of[call]], call.rank
        if call.matches(FROM_ROOT):
            return [other for other in calls if other.rank == call["peer"] != rank]
        if call.matches(TO_ROOT):
            return calls if call["peer"] == rank else []
        if call.matches(PREFIX):
            return [other for other in calls if other.rank <= rank]
        if call.matches(NEIGHBOURS):
            return [other for other in calls if other.rank in call["peers"]]
        return calls
