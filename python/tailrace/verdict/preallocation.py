"""MPI_File_preallocate: one rank writes zeros, or what the file already holds, for as long as the
file is to be, or has the system find room; the others wait for it. No other way to write makes that
faster, and nobody asked for these bytes."""

from tailrace.names import base_name
from tailrace.units import byte_count, nanoseconds, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.by_path import preallocated
from tailrace.verdict.cause import CAUSE_SHARE
from tailrace.verdict.evidence import Evidence, Finding, Kind

# Less of the run is not worth a change.
NOTABLE_SHARE = 0.02


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
    part = percent(time_ns / evidence.io_time_ns)
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
