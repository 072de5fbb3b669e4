"""What HDF5's filters take. A chunk is filtered as a whole before it is written, or when it was
read, with no call in between, so that capture measures the functions that do it
(capture/filters.c): this is known, and no bound.

| sentence                                   | said when                                       |
|--------------------------------------------|-------------------------------------------------|
| compressing by zlib takes x % of the run   | NOTABLE_LOSS, on average over those that do it, |
|                                            | and the report is about the whole run           |
| decompressing by zlib takes …              | the same of chunks that are read                |
| …, on rank r y %                           | it takes UNEVEN times as long there             |
| … by zstd and lzf                          | of several those with NOTABLE_PART of the time  |
| what HDF5's filter shuffle does takes x %  | it does not compress, or no name is known, of   |
|                                            | one of these                                    |
| …: chunks are decompressed again           | in all, AGAIN times as many bytes went into one |
|                                            | filter as the files that were read reach        |
"""

from typing import NamedTuple

import numpy as np

from tailrace.units import byte_count, count, nanoseconds, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.between import UNEVEN, named_ranks
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.filters import COMPRESSING, READ, WRITTEN, ZLIB, Filter, filters

NOTABLE_PART = 0.1
AGAIN = 1.5


class _Way(NamedTuple):
    """`meta`: where it stands; the rest are words."""

    meta: str
    kind: Kind
    doing: str
    does: str
    advised: str
    shared: str


WRITING = _Way(
    WRITTEN,
    Kind.COMPRESSION,
    "compressing",
    "",
    "hdf5",
    "let every rank write, and compress, a part",
)
READING = _Way(
    READ,
    Kind.DECOMPRESSION,
    "decompressing",
    " to what is read",
    "hdf5, read",
    "let every rank read, and decompress, a part",
)


def compression(evidence: Evidence) -> Finding | None:
    return _found(evidence, WRITING)


def decompression(evidence: Evidence) -> Finding | None:
    return _found(evidence, READING)


def _found(evidence: Evidence, way: _Way) -> Finding | None:
    done = _named(filters(evidence, way.meta))
    time_ns = _time_ns(evidence, done)
    ranks = sorted({int(rank) for each in done for rank in np.flatnonzero(each.calls)})
    mean_ns = float(time_ns.sum()) / max(len(ranks), 1)
    if (share := evidence.share(mean_ns)) < NOTABLE_LOSS:
        return None
    few, longest = len(ranks) < evidence.ranks, int(time_ns.argmax())
    who = f" on {named_ranks(evidence, ranks)}" if few else ""
    longest_ns = int(time_ns[longest])
    if longest_ns > UNEVEN * mean_ns:
        who += f", on rank {longest} {percent(evidence.share(longest_ns))}"
    is_again = way is READING and (most := _most_again(evidence, done)) >= AGAIN
    words = advice(Kind.MADE_BEFORE, f"{way.advised} again" if is_again else way.advised)
    facts = "; ".join(_facts(each, way) for each in done)
    if is_again:
        facts += f"; that is {most:.3g} times what the files hold: chunks are decompressed again"
    return Finding(
        way.kind,
        f"{_what(done, way)} takes {percent(share)} of the run{who}",
        f"{facts}; it counts as computation",
        share,
        f"without this time the run would be up to {nanoseconds(longest_ns)} shorter",
        to_seconds(longest_ns),
        f"{words}; or {way.shared}" if few else words,
        ranks=tuple(ranks) if few else (),
        functions=("compress2",) if any(_is_compress2(each, way) for each in done) else (),
    )


def _named(filters: list[Filter]) -> list[Filter]:
    """Those with a notable part of the time: what others take is in no sentence."""
    part_ns = NOTABLE_PART * sum(int(each.time_ns.sum()) for each in filters)
    return [each for each in filters if each.time_ns.sum() >= part_ns]


def compression_ns(evidence: Evidence) -> np.ndarray:
    """Length P: what of each rank's useful time these sentences are about."""
    said = [way for way in (WRITING, READING) if _found(evidence, way)]
    return _time_ns(evidence, [f for way in said for f in _named(filters(evidence, way.meta))])


def _what(filters: list[Filter], way: _Way) -> str:
    *others, last = [each.name for each in filters]
    names = f"{', '.join(others)} and {last}" if others else last
    if all(each.number in COMPRESSING for each in filters):
        return f"{way.doing} by {names}"
    verb = "do" if others else "does"
    return f"what HDF5's filter{'s' if others else ''} {names} {verb}{way.does}"


def _is_compress2(done: Filter, way: _Way) -> bool:
    """HDF5's deflate filter calls that, and so may the program."""
    return way is WRITING and done.number == ZLIB


def _facts(done: Filter, way: _Way) -> str:
    calls, before, after = (int(each.sum()) for each in done[2:])
    function = f"HDF5's filter {done.name}, one for each chunk"
    if _is_compress2(done, way):
        function = "compress2, as HDF5's deflate filter makes for each chunk"
    return (
        f"{nanoseconds(int(done.time_ns.sum()))} in {count(calls, 'call')} of {function}: "
        f"{byte_count(before)} became {byte_count(after)}"
    )


def _most_again(evidence: Evidence, filters: list[Filter]) -> float:
    """How many times what the ranks' files hold went through one filter; 0 where it is not known
    where in them was read. A rank that reads the file of another reads it for itself."""
    table = evidence.file_rank
    begins, ends = (np.asarray(table[f"reads_{edge}"]) for edge in ("begin", "end"))
    if not (held := int((ends - begins)[begins >= 0].sum())):
        return 0.0
    return max(int(each.bytes_before.sum()) for each in filters) / held


def _time_ns(evidence: Evidence, filters: list[Filter]) -> np.ndarray:
    none = np.zeros(evidence.ranks, dtype=np.int64)
    whole = sum((each.time_ns for each in filters), none)
    return np.minimum(whole, evidence.times.useful_ns)
