"""Ranks that ask again and again whether a file is there, or longer than before: they wait for
another to make it."""

from typing import NamedTuple

import numpy as np

from tailrace.verdict.cause import where_of
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.look_ups import LOOKS_OF_A_USE, MANY_POLLS
from tailrace.verdict.modules import are_modules
from tailrace.verdict.off_path import slept_ns
from tailrace.verdict.requests import KINDS, MANY_EMPTY, calls_of_functions, sum_use

# Who sleeps so much of what the longest sleeps may wait for it.
AS_LONG = 0.5
# Who asks for a file many times waits for it: how that is told, and what share of the rank's calls
# it is at least. Who tries in vain to open it may do something while it is there, as under a lock.
WAYS_TO_POLL = {
    "open": ("tries in vain to open {}", 0.5),
    "look_up": ("looks up {}", 0.8),
    "read": ("reads nothing of {}", 0.8),
}
# Who waits for so many names in turn may do more beside.
SEVERAL = 3
LEAST_OF_SEVERAL = 0.4
OF_OPEN_FILES = ("fstat", "fstat64", "__fxstat", "__fxstat64")


class Poll(NamedTuple):
    """A rank opens files in vain again and again, looks them up or reads nothing of them: it waits
    for another to make them, or to make them longer."""

    rank: int
    does: str
    calls: int
    # of all that the rank asks of files
    share: float
    time_ns: int


def polls_of_files(evidence: Evidence) -> list[Poll]:
    """What Python does to start is none of what the program does."""
    table, found = evidence.file_rank, []
    ranks, files = (np.asarray(table[name], dtype=np.int64) for name in ("rank", "file"))
    own = ~are_modules(evidence)[files]
    for kind, asked in _asked(table).items():
        does, least = WAYS_TO_POLL[kind]
        in_turn = own & _came_in_turn(evidence, asked, files)
        in_turn &= kind != "look_up" or not _are_of_open_files(evidence)
        many = np.bincount(ranks, np.where(own & (asked >= MANY_POLLS) | in_turn, asked, 0))
        for rank in np.flatnonzero(many >= MANY_POLLS):
            of_rank = own & (ranks == rank)
            whole = sum_use(table, np.flatnonzero(of_rank)).calls(*KINDS)
            rows = _awaited(np.where(of_rank, asked, 0), in_turn & of_rank, least, whole)
            if times := int(asked[rows].sum()):
                time_ns = int(np.asarray(table[f"{kind}_ns"])[rows].sum())
                names = does.format(where_of(evidence, files[rows]))
                found.append(Poll(int(rank), names, times, times / whole, time_ns))
    return found


def _asked(table: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By way to poll: how many calls of each row may be for that."""
    opens, look_ups, reads = (np.asarray(table[name]) for name in ("opens", "look_ups", "reads"))
    used = np.maximum.reduce([np.asarray(table[name]) for name in ("closes", "reads", "writes")])
    empty = MANY_EMPTY * np.asarray(table["bytes_read"]) < reads
    in_vain = np.clip(opens - used, 0, None)
    return {"open": in_vain, "look_up": look_ups, "read": np.where(empty, reads, 0)}


def _are_of_open_files(evidence: Evidence) -> bool:
    """Whether most look-ups are of files that are open already, as before each read of them."""
    of_open = calls_of_functions(evidence.columns["functions"], OF_OPEN_FILES)
    return 2 * of_open > evidence.use.calls("look_up")


def _came_in_turn(evidence: Evidence, asked: np.ndarray, files: np.ndarray) -> np.ndarray:
    """Rows of files that were there in the end, as they were opened, and which a rank asks for more
    often than anybody would who does not wait, for each time that it opens them itself or writes
    there: a program also looks for many names that never come, looks at what it opens, and asks for
    the size of a log before it adds a line."""
    table = evidence.file_rank
    came = np.asarray(evidence.files["closes"])[files] > 0
    used = np.maximum(np.asarray(table["closes"]), np.asarray(table["writes"]))
    return np.asarray(came & (asked > LOOKS_OF_A_USE * np.maximum(used, 1)))


def _awaited(asked: np.ndarray, in_turn: np.ndarray, least: float, whole: int) -> np.ndarray:
    """The row with so much of these calls; or rows that have them together, as where a file is made
    for each step: of several of these a smaller part of all calls tells, beside the reads and
    writes of each step."""
    alone = int(asked.argmax())
    if asked[alone] >= max(least * whole, MANY_POLLS):
        return np.array([alone])
    rows = np.flatnonzero(in_turn)
    least = least if len(rows) < SEVERAL else min(least, LEAST_OF_SEVERAL)
    return rows if asked[rows].sum() >= max(least * whole, MANY_POLLS) else rows[:0]


def meanwhile_polled(polls: list[Poll]) -> str:
    """`; rank 1 tries in vain to open flag 6,512 times`: of the rank that spends most time so."""
    if not polls:
        return ""
    most = max(polls, key=lambda poll: poll.time_ns)
    return f"; rank {most.rank} {most.does} {most.calls:,} times"


def polled_asleep(evidence: Evidence) -> str:
    """`, and rank 1 looks up flag 6,512 times`: of the rank that does so most of those that sleep
    about as long as the longest."""
    slept = slept_ns(evidence)
    if slept is None:
        return ""
    polls = [p for p in polls_of_files(evidence) if slept[p.rank] >= AS_LONG * slept.max()]
    if not polls:
        return ""
    most = max(polls, key=lambda poll: poll.calls)
    who = "it" if evidence.ranks == 1 else f"rank {most.rank}"
    return f", and {who} {most.does} {most.calls:,} times"
