"""Which send meets which receive: the n-th of a channel the n-th.

A *posting* is a send or a receive that is under way: begun by its call, or, of a persistent
request, by each `MPI_Start`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.golden.oracle.calls import BOTH, PROBES, RECEIVES, SENDS, Call, Recorded

# Communicator, from whom, to whom, tag.
Channel = tuple[int, int, int, int]


@dataclass(eq=False)
class Posting:
    # What names peer, tag and bytes, and what it begins with: a partitioned send's last part.
    call: Call
    at: Call
    cancelled: int | None = None  # when


def channels(call: Call) -> Iterator[tuple[str, Channel]]:
    """Those on which it sends or receives. A wildcard's is the one that happened."""
    both = call.matches(BOTH)
    if (both or call.matches(SENDS)) and call["peer"] is not None:
        yield "send", (call["communicator"], call.rank, call["peer"], call["tag"])
    source, tag = ("source", "source_tag") if both else ("peer", "tag")
    if (both or call.matches(RECEIVES, PROBES)) and call[source] is not None:
        yield "receive", (call["communicator"], call[source], call.rank, call[tag])


class Messages:
    def __init__(self, recorded: Recorded) -> None:
        self.sends: dict[Channel, list[Posting]] = defaultdict(list)
        self.receives: dict[Channel, list[Posting]] = defaultdict(list)
        # By request the latest, by call that which it begins, and those that it completes.
        self.of_request: dict[int, Posting] = {}
        self.of_call: dict[Call, Posting] = {}
        self.completed: dict[Call, list[Posting]] = {}
        # What MPI_Mprobe found, until it is received; how many receives a probe came after.
        self.probed: dict[Channel, list[Posting]] = defaultdict(list)
        self.looks: dict[Call, tuple[Channel, int]] = {}
        prepared: dict[int, Call] = {}
        for call in recorded.all:
            if call.prepares:
                prepared[call["request"]] = call
            elif call["acts_on"]:
                self.act(call, prepared)
            elif call.matches(PROBES):
                self.look(call)
            else:
                self.post(call, call, call["request"])
            waited = [self.of_request.get(request) for request in call["completes"]]
            self.completed[call] = [posting for posting in waited if posting]
        self.met: dict[tuple[Posting, str], Posting] = {}
        for channel, receives in self.receives.items():
            self.meet(receives, self.sends[channel])

    def act(self, call: Call, prepared: dict[int, Call]) -> None:
        for request in call["acts_on"]:
            if call.name.startswith("MPI_Start"):
                self.post(prepared[request], call, request)
            elif call.name.startswith("MPI_Pready"):
                self.of_request[request].at = call
            elif call.name == "MPI_Cancel":
                self.of_request[request].cancelled = call.begin
            # A request that is freed goes on, and nobody waits for it.

    def post(self, call: Call, at: Call, request: int | None) -> None:
        ways = list(channels(call))
        if "mrecv" in call.name.lower() and ways and self.probed[ways[0][1]]:
            posting = self.probed[ways[0][1]].pop(0)
            posting.call, posting.at = call, at
        else:
            posting = Posting(call, at)
            for way, channel in ways:
                (self.sends if way == "send" else self.receives)[channel].append(posting)
        self.of_call[call] = posting
        if request is not None:
            self.of_request[request] = posting

    def look(self, call: Call) -> None:
        """A probe finds the first message that no receive before it takes; MPI_Mprobe takes it."""
        for _, channel in channels(call):
            self.looks[call] = channel, len(self.receives[channel])
            if "mprobe" in call.name.lower():
                posting = Posting(call, call)
                self.receives[channel].append(posting)
                self.probed[channel].append(posting)

    def meet(self, receives: list[Posting], sends: list[Posting]) -> None:
        """A receive that is cancelled takes a message only if that was sent before."""
        left = list(sends)
        for receive in receives:
            late = left and receive.cancelled is not None
            if not left or (late and left[0].at.begin >= receive.cancelled):
                continue
            send = left.pop(0)
            self.met[receive, "receive"], self.met[send, "send"] = send, receive

    def found(self, probe: Call) -> Posting | None:
        if probe not in self.looks:
            return None
        channel, number = self.looks[probe]
        sends = self.sends[channel]
        return sends[number] if number < len(sends) else None
