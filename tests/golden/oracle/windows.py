"""Whom one-sided calls wait for: posts, completes, and who had a lock before."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tests.golden.oracle.calls import Call, Recorded

Window = tuple[int, int]  # communicator, which of its windows


@dataclass(eq=False)
class Held:
    lock: Call
    unlock: Call | None = None


class Windows:
    """`waits`: by call the calls whose begin it waits for, if they came before as measured."""

    def __init__(self, recorded: Recorded) -> None:
        self.waits: dict[Call, list[Call]] = defaultdict(list)
        # By window, target and origin: the posts, and what starts and ends access; by window and
        # target who had the lock, in the order in which MPI_Win_lock was called.
        self.posts: dict[tuple, list[Call]] = defaultdict(list)
        self.completes: dict[tuple, list[Call]] = defaultdict(list)
        self.held: dict[tuple[Window, int], list[Held]] = defaultdict(list)
        for calls in recorded.main:
            self.follow_epochs(calls)
        for calls in recorded.main:
            self.meet_epochs(calls)
        self.follow_locks(recorded)

    def follow_epochs(self, calls: list[Call]) -> None:
        access: dict[Window, Call] = {}
        for call in calls:
            window, rank = (call["communicator"], call["window"]), call.rank
            if call.name == "MPI_Win_post":
                for origin in call["peers"]:
                    self.posts[window, rank, origin].append(call)
            elif call.name == "MPI_Win_start":
                access[window] = call
            elif call.name == "MPI_Win_complete":
                for target in access[window]["peers"]:
                    self.completes[window, target, rank].append(call)

    def meet_epochs(self, calls: list[Call]) -> None:
        """The n-th start that names a target is for that one's n-th post that names the origin."""
        access: dict[Window, list[tuple[tuple, int]]] = {}
        exposure: dict[Window, list[tuple[tuple, int]]] = {}
        numbers: dict[tuple, int] = defaultdict(int)
        for call in calls:
            window, rank = (call["communicator"], call["window"]), call.rank
            if call.name == "MPI_Win_start":
                access[window] = self.count(
                    [(window, peer, rank) for peer in call["peers"]], numbers
                )
            elif call.name == "MPI_Win_post":
                exposure[window] = self.count(
                    [(window, rank, peer) for peer in call["peers"]], numbers
                )
            if call.name in {"MPI_Win_start", "MPI_Win_complete"}:
                self.wait(call, self.posts, access[window])
            elif call.name == "MPI_Win_wait":
                self.wait(call, self.completes, exposure[window])

    @staticmethod
    def count(pairs: list[tuple], numbers: dict[tuple, int]) -> list[tuple[tuple, int]]:
        epoch = [(pair, numbers[pair]) for pair in pairs]
        for pair in pairs:
            numbers[pair] += 1
        return epoch

    def wait(self, call: Call, others: dict, epoch: list[tuple[tuple, int]]) -> None:
        for pair, number in epoch:
            self.waits[call] += others[pair][number : number + 1]

    def follow_locks(self, recorded: Recorded) -> None:
        calls = [call for of_rank in recorded.main for call in of_rank]
        mine: dict[tuple, Held] = {}
        during: list[tuple[Call, Held]] = []
        for call in sorted(calls, key=lambda call: call.begin):
            place = (call["communicator"], call["window"]), call["peer"]
            if call.name == "MPI_Win_lock":
                mine[place, call.rank] = Held(call)
                self.held[place].append(mine[place, call.rank])
            if call.name in {"MPI_Win_lock", "MPI_Win_flush", "MPI_Win_unlock"}:
                during.append((call, mine[place, call.rank]))
            if call.name == "MPI_Win_unlock":
                mine[place, call.rank].unlock = call
        for call, lock in during:
            self.wait_for_holders(call, lock)

    def wait_for_holders(self, call: Call, own: Held) -> None:
        """The call may return from MPI_Win_lock before it is granted: whoever called that first had
        it first."""
        place = (call["communicator"], call["window"]), call["peer"]
        for held in self.held[place]:
            if held is own:
                return
            excludes = own.lock["exclusive"] or held.lock["exclusive"]
            if excludes and held.unlock:
                self.waits[call].append(held.unlock)
