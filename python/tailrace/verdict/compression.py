"""What HDF5's deflate filter takes. A chunk is compressed as a whole before it is written, with no
call in between, so that capture measures the function of zlib that does it (capture/zlib.c): this
is known, and no bound.

| sentence                                   | said when                                       |
|--------------------------------------------|-------------------------------------------------|
| compressing by zlib takes x % of the run   | NOTABLE_LOSS, on average over those that do it, |
|                                            | and the report is about the whole run           |
| …, on rank r y %                           | it takes UNEVEN times as long there             |
"""

from typing import NamedTuple

import numpy as np

from tailrace.units import byte_count, count, nanoseconds, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.between import UNEVEN, named_ranks
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind


class _Compressed(NamedTuple):
    """Length P; time without waits for a processor."""

    time_ns: np.ndarray
    calls: np.ndarray
    bytes_before: np.ndarray
    bytes_after: np.ndarray


def compression(evidence: Evidence) -> Finding | None:
    done = _compressed(evidence)
    ranks = list(map(int, np.flatnonzero(done.calls)))
    mean_ns = float(done.time_ns.sum()) / max(len(ranks), 1)
    if (share := evidence.share(mean_ns)) < NOTABLE_LOSS:
        return None
    few, longest = len(ranks) < evidence.ranks, int(done.time_ns.argmax())
    who = f" on {named_ranks(evidence, ranks)}" if few else ""
    longest_ns = int(done.time_ns[longest])
    if longest_ns > UNEVEN * mean_ns:
        who += f", on rank {longest} {percent(evidence.share(longest_ns))}"
    calls, before, after = (int(each.sum()) for each in done[1:])
    words = advice(Kind.MADE_BEFORE, "hdf5")
    return Finding(
        Kind.COMPRESSION,
        f"compressing by zlib takes {percent(share)} of the run{who}",
        f"{nanoseconds(int(done.time_ns.sum()))} in {count(calls, 'call')} of compress2, as HDF5's "
        f"deflate filter makes for each chunk: {byte_count(before)} became {byte_count(after)}; it "
        "counts as computation",
        share,
        f"without this time the run would be up to {nanoseconds(longest_ns)} shorter",
        to_seconds(longest_ns),
        f"{words}; or let every rank write, and compress, a part" if few else words,
        ranks=tuple(ranks) if few else (),
        functions=("compress2",),
    )


def compression_ns(evidence: Evidence) -> np.ndarray:
    """Length P: what of each rank's useful time that sentence is about."""
    none = np.zeros(evidence.ranks, dtype=np.int64)
    return _compressed(evidence).time_ns if compression(evidence) else none


def _compressed(evidence: Evidence) -> _Compressed:
    """Nothing where it is not known, or is known of more than the report is about."""
    by_rank = evidence.columns["meta"].get("compressed", "").split(",")
    if len(by_rank) != evidence.ranks or evidence.chosen_of_ns:
        return _Compressed(*np.zeros((4, evidence.ranks), dtype=np.int64))
    numbers = np.array([list(map(int, (text or "0 0 0 0").split(" "))) for text in by_rank]).T
    ran = np.array([evidence.ran_while_useful(rank) for rank in range(evidence.ranks)])
    time_ns = np.minimum(numbers[0], evidence.times.useful_ns) * ran
    return _Compressed(time_ns.astype(np.int64), *numbers[1:])
