"""All calls in order of measured time: each rank carries by how much its three clocks are ahead of
its own time, and a wait is for what happened before, as measured."""

from __future__ import annotations

from collections import defaultdict

from tests.golden.oracle.calls import BOTH, RECEIVES, SENDS, Call, Recorded
from tests.golden.oracle.local import NEVER, Clocks, later, latest, local_times, within
from tests.golden.oracle.meetings import Meeting, Meetings
from tests.golden.oracle.messages import Messages, Posting
from tests.golden.oracle.opaque import Opaque
from tests.golden.oracle.windows import Windows

# What happens at one time: first calls end, and those inside others before them.
ENDS, JOINS, BEGINS, OPENS = range(4)


class Replay:
    def __init__(self, recorded: Recorded, eager_limit: int) -> None:
        self.recorded, self.eager_limit = recorded, eager_limit
        self.messages, self.windows = Messages(recorded), Windows(recorded)
        self.meetings = Meetings(recorded)
        self.opaque = Opaque(recorded, self.meetings)
        self.local = local_times(recorded, self.opaque)
        self.ahead: list[Clocks] = [NEVER] * recorded.ranks
        # By thread beside a main one: until when what it did itself takes.
        self.own: dict[tuple[int, int], Clocks] = defaultdict(lambda: NEVER)
        # When each call began; when who moves data in a collective call on a file had done so.
        self.moments: dict[Call, Clocks] = {}
        self.moved: dict[Meeting, list[tuple[int, Clocks]]] = defaultdict(list)
        self.movers: set[Call] = set()

    def run(self) -> Clocks:
        events = [event for calls in self.recorded.main for event in self.events(calls)]
        for number, call in enumerate(self.recorded.others):
            events.append((call.begin, BEGINS, call.rank, number, self.begin, call))
            events.append((call.end, ENDS, call.rank, -number, self.end_beside, call))
        for time, _, _, _, happens, call in sorted(events, key=lambda event: event[:4]):
            happens(call, time)
        runtime, ranks = self.recorded.runtime, range(self.recorded.ranks)
        net, even, ideal = latest(*(self.now(rank, runtime) for rank in ranks))
        return net, even // self.recorded.ranks, ideal

    def events(self, calls: list[Call]) -> list[tuple]:
        events, around = [], []  # collective calls on files around the call
        for place, call in enumerate(calls):
            while around and call.begin >= around[-1].end:
                around.pop()
            if call.is_of_file and around:
                events.append((call.begin, JOINS, call.rank, place, self.join, around[-1]))
                events.append((call.end, ENDS, call.rank, place, self.move, around[-1]))
            events.append((call.begin, BEGINS, call.rank, place, self.begin, call))
            events.append((call.end, ENDS, call.rank, -place, self.end, call))
            if call.is_collective_on_file:
                around.append(call)
                if self.opaque.is_opaque(call) and (entry := self.opaque.entry(call)):
                    events.append((entry, OPENS, call.rank, place, self.join_opaque, call))
        return events

    def now(self, rank: int, time: int) -> Clocks:
        moment = min(max(time, 0), self.recorded.runtime)
        return later(self.ahead[rank], self.local[rank].at(moment))

    def wait(self, rank: int, time: int, moment: Clocks) -> None:
        now = self.now(rank, time)
        behind = (max(0, other - own) for other, own in zip(moment, now, strict=True))
        self.ahead[rank] = later(self.ahead[rank], tuple(behind))

    def begin(self, call: Call, time: int) -> None:
        """Another thread has the clock of its rank, but does one thing after the other."""
        self.moments[call] = self.now(call.rank, time)
        if not call.is_main:
            thread = call.rank, call["thread"]
            self.moments[call] = latest(self.moments[call], self.own[thread])

    def end(self, call: Call, time: int) -> None:
        self.wait(call.rank, time, self.depends(call, time))

    def end_beside(self, call: Call, time: int) -> None:
        thread = call.rank, call["thread"]
        done = later(self.moments[call], self.taken_beside(call))
        self.own[thread] = latest(self.own[thread], done, self.depends(call, time))

    def taken_beside(self, call: Call) -> Clocks:
        """A file call is spread as the main threads' are, and is one more of them."""
        if not call.is_of_file:
            return NEVER
        begin, end = within((call.begin, call.end), self.recorded.runtime)
        area = self.local[call.rank].area
        shared = area(end) - area(begin) + end - begin
        return end - begin, min(shared, (end - begin) * self.recorded.ranks), 0

    def join(self, call: Call, time: int) -> None:
        """Who makes a file call within a collective one has met the others."""
        self.wait(call.rank, time, self.everyone(call, time))

    def join_opaque(self, call: Call, time: int) -> None:
        """All have entered, the last right now: from here on the call is I/O."""
        calls = self.meetings.calls[self.meetings.of[call]]
        self.wait(call.rank, time, latest(*(self.moments[other] for other in calls)))

    def move(self, call: Call, time: int) -> None:
        self.movers.add(call)
        self.moved[self.meetings.of[call]].append((time, self.now(call.rank, time)))

    def depends(self, call: Call, time: int) -> Clocks:
        """What a call cannot end before."""
        moments = [self.begun(other, time) for other in self.windows.waits.get(call, [])]
        postings = list(self.messages.completed[call])
        if not call.starts and call in self.messages.of_call:
            postings.append(self.messages.of_call[call])
        if found := self.messages.found(call):
            moments.append(self.begun(found.at, time))
        for posting in postings:
            moments += self.of_message(posting, time)
            moments += self.of_meeting(posting.call, time)
        return latest(NEVER, *moments)

    def begun(self, call: Call, time: int) -> Clocks:
        return self.moments[call] if call.begin < time else NEVER

    def of_message(self, posting: Posting, time: int) -> list[Clocks]:
        call, met = posting.call, self.messages.met
        moments = []
        if call.matches(RECEIVES, BOTH) and (send := met.get((posting, "receive"))):
            moments.append(self.begun(send.at, time))
        if call.matches(SENDS, BOTH) and (receive := met.get((posting, "send"))):
            mode = call.name.removeprefix("MPI_").removesuffix("_init").lower().lstrip("i")
            large = mode != "bsend" and self.sent(call) > self.eager_limit
            if mode == "ssend" or large:
                moments.append(self.begun(receive.at, time))
        return moments

    def sent(self, call: Call) -> int:
        """A call that sends and receives has the bytes of both; what it sends, another receives."""
        return (call["bytes"] or 0) // (2 if call.matches(BOTH) else 1)

    def of_meeting(self, call: Call, time: int) -> list[Clocks]:
        if call.is_collective_on_file:
            return self.of_file(call, time)
        if call not in self.meetings.of:
            return []
        return [self.begun(other, time) for other in self.meetings.waited_for(call)]

    def of_file(self, call: Call, time: int) -> list[Clocks]:
        """Others read for the rank, or wrote for it if it made no file call itself."""
        moments = [self.everyone(call, time)]
        is_served = "read" in call.name or ("write" in call.name and call not in self.movers)
        if is_served and moments != [NEVER]:
            moved = self.moved[self.meetings.of[call]]
            moments += [moment for at, moment in moved if at < time]
        return moments

    def everyone(self, call: Call, time: int) -> Clocks:
        """The entry of all into a collective call on a file, which need not synchronize: only if
        all entered."""
        calls = self.meetings.calls[self.meetings.of[call]]
        entered = [other for other in calls if other.begin < time]
        if len(entered) < len(calls) or len(calls) < 2:
            return NEVER
        return latest(*(self.begun(other, time) for other in entered))
