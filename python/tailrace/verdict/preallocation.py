"""MPI_File_preallocate: one rank writes zeros, or what the file already holds, for as long as the
file is to be, or has the system find room; the others wait for it. No other way to write makes that
faster, and nobody asked for these bytes."""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tailrace.names import base_name
from tailrace.units import byte_count, nanoseconds, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.cause import CAUSE_SHARE
from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.places import Places
from tailrace.verdict.requests import KINDS

PREALLOCATE = re.compile("P?MPI_File_preallocate$")
# Less of the run is not worth a change.
NOTABLE_SHARE = 0.02


class Preallocated(NamedTuple):
    """What was done inside MPI_File_preallocate, by file; times are summed over ranks."""

    time_ns: np.ndarray
    bytes_read: np.ndarray
    bytes_written: np.ndarray


@lru_cache(maxsize=1)  # several findings ask
def preallocated(evidence: Evidence) -> Preallocated:
    """By the functions through which each call went."""
    places, number = Places(evidence.columns), len(evidence.elsewhere)
    sums = Preallocated(*(np.zeros(number, dtype=np.int64) for _ in Preallocated._fields))
    frames = places.table["frames"]["function"] if len(places.files) else ()
    inside = {row for row, name in enumerate(frames) if PREALLOCATE.match(str(name))}
    if not inside:
        return sums
    paths = [not inside.isdisjoint(path) for path in places.table["paths"]]
    rows = np.flatnonzero((places.files >= 0) & np.asarray(paths)[places.table["path"]])
    columns = (places.time_ns(KINDS), places.table["bytes_read"], places.table["bytes_written"])
    for total, column in zip(sums, columns, strict=True):
        np.add.at(total, places.files[rows], np.asarray(column)[rows])
    return sums


def preallocation(evidence: Evidence) -> Finding | None:
    """What it costs: the time of the one rank, or where several do it their mean."""
    done = preallocated(evidence)
    if not done.time_ns.any():
        return None
    file = int(done.time_ns.argmax())
    time_ns = int(done.time_ns[file])
    alone = int(evidence.files["slowest_rank_ns"][file]) >= time_ns
    cost = time_ns * evidence.ran_in_io / (1 if alone else evidence.ranks)
    loss = int(min(cost, float(evidence.losses.io_ns)))
    if evidence.share(loss) < NOTABLE_SHARE:
        return None
    part = percent(time_ns / evidence.use.time_ns())
    rank = int(evidence.files["slowest_rank"][file])
    where = f" on rank {rank}{_waiting(evidence)}" if alone and evidence.ranks > 1 else ""
    return Finding(
        Kind.PREALLOCATION,
        f"MPI_File_preallocate, which {_acts(evidence, file)}{where}, takes {part} of the I/O time",
        f"{nanoseconds(time_ns)} in file calls inside it",
        evidence.share(loss),
        f"without it the run would be up to {nanoseconds(loss)} shorter",
        to_seconds(loss),
        advice(Kind.PREALLOCATION),
        evidence.path_of(file),
        (rank,) if alone else (),
        ("MPI_File_preallocate",),
    )


def is_most_of_io(evidence: Evidence) -> bool:
    """Who does the I/O, and why it takes long, is said of it then."""
    time_ns = int(preallocated(evidence).time_ns.sum())
    return time_ns >= CAUSE_SHARE * evidence.use.time_ns() > 0


def _acts(evidence: Evidence, file: int) -> str:
    """`reads 4 MB and writes 400 MB of field.dat`; `allocates field.dat`."""
    done = preallocated(evidence)
    sizes = (("reads", done.bytes_read[file]), ("writes", done.bytes_written[file]))
    acts = " and ".join(f"{verb} {byte_count(size)}" for verb, size in sizes if size)
    name = base_name(evidence.files["path"][file])
    return f"{acts} of {name}" if acts else f"allocates {name}"


def _waiting(evidence: Evidence) -> str:
    others = evidence.ranks - 1
    return " while the other waits" if others == 1 else f" while {others} ranks wait"
