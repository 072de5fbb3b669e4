"""Findings about files. A cause is named only when removing it would save a notable share of the
run time in the replays; counts of calls alone, which other tools go by, never make a finding."""

import numpy as np

from tailrace.units import count, nanoseconds, percent
from tailrace.verdict.advice import advice
from tailrace.verdict.amplification import amplification_text, sieving_advised, surplus
from tailrace.verdict.by_path import PREALLOCATE
from tailrace.verdict.ends import many_are_lost
from tailrace.verdict.evidence import NOTABLE_LOSS, Evidence, Finding, Kind
from tailrace.verdict.off_path import of_others_mostly
from tailrace.verdict.preallocation import is_most_of_io, makes_ranks_differ, preallocation
from tailrace.verdict.requests import (
    MOVING_KINDS,
    MPIIO_CALL,
    SETTING_UP,
    SMALL_BYTES,
    bytes_of_functions,
    calls_of,
    calls_of_functions,
    shared_calls,
)
from tailrace.verdict.run_findings import exchange_share
from tailrace.verdict.shared_files import goes_on, locked_by
from tailrace.verdict.who import who_does_io
from tailrace.verdict.why import NOTABLE_SHARE, ON_MPIIO, why_slow

# Time between the layers is worth a word when it is at least this share of the time in MPI-IO.
BETWEEN_SHARE = 0.2
# An MPI-IO function is named when it takes at least this share of the time in MPI-IO.
NAMED_CALL_SHARE = 0.25
# More often than this by each rank is in a loop.
OFTEN = 3


def causes(evidence: Evidence) -> list[Finding]:
    """Who does the I/O, where ranks differ in it, and why the rest takes as long as it does. Of the
    main threads: nothing can be told where the tables are mostly about others. Nor do ranks compare
    where calls of some were lost."""
    if of_others_mostly(evidence):
        return []
    room = preallocation(evidence)
    if room is not None and is_most_of_io(evidence):
        return [room]
    unknown = many_are_lost(evidence) or (room is not None and makes_ranks_differ(evidence))
    who = None if unknown else who_does_io(evidence)
    losses = evidence.losses
    why = why_slow(evidence, losses.io_transfer_ns if who else losses.io_ns)
    return [finding for finding in (who, why, room) if finding is not None]


def locks(evidence: Evidence) -> Finding | None:
    """Time in fcntl, flock and lockf, which only a lock makes long. A share of all ranks' time."""
    use = evidence.use
    time_ns = max(use.time_ns("lock") - evidence.waited_ns("io"), 0)
    share = evidence.share(time_ns / max(evidence.ranks, 1))
    if share < NOTABLE_SHARE:
        return None
    calls = calls_of(use, "lock", evidence.columns["functions"])
    alone = evidence.ranks == 1
    waiting = "the program waits" if alone else "ranks wait"
    others = "" if alone else f" over {count(evidence.ranks, 'rank')}"
    file = evidence.named_file("lock")
    taken = f"{calls} take {percent(share)} of the time"
    return Finding(
        Kind.LOCKS,
        f"{waiting} for file locks {percent(share)} of the time"
        if use.waits_for_locks
        else taken
        if _share_a_lock(evidence, file)
        else f"{taken}, without waiting for another",
        f"{use.calls('lock'):,} calls of fcntl, flock and lockf, {nanoseconds(use.each_ns('lock'))}"
        f" each, {nanoseconds(time_ns)}{others}",
        share,
        advice=advice(Kind.LOCKS, locked_by(evidence, file), evidence.mpi),
    )


def _share_a_lock(evidence: Evidence, file: int | None) -> bool:
    """They may wait for each other, if only for as long as it takes to write a few bytes."""
    rows = () if file is None else evidence.users_of(file, "lock")
    return len({int(evidence.file_rank["rank"][row]) for row in rows}) > 1


def between_layers(evidence: Evidence) -> Finding | None:
    """Time in MPI-IO outside the POSIX calls nested in it: exchange, waiting, locks. A share of all
    ranks' time, less what uneven I/O and ranks that compute longer keep them waiting."""
    layers = evidence.columns["layers"]
    whole = int(layers["between_ns"])
    late = min(_waited_for_computation(evidence), whole)
    # Waits for a processor lie in what is left as in all of it.
    waited = min(evidence.waited_ns("mpi"), whole) * (whole - late) // max(whole, 1)
    mpiio = int(layers["mpiio_ns"]) - late - waited
    between = whole - late - waited
    # Who waits in a collective call for those that read or write waits for uneven I/O.
    elsewhere_ns = evidence.losses.io_balance_ns
    share = evidence.share(max(between / max(evidence.ranks, 1) - elsewhere_ns, 0))
    if share < NOTABLE_SHARE or between < BETWEEN_SHARE * mpiio:
        return None
    calls = costly_calls(evidence)
    rest = "waiting for other ranks, exchanging data, and locks inside the MPI library"
    if evidence.ranks == 1:
        rest = "the MPI library itself"
    return Finding(
        Kind.BETWEEN_LAYERS,
        _between_text(calls, between / mpiio),
        f"{nanoseconds(mpiio)} in MPI-IO calls over {count(evidence.ranks, 'rank')}, of which "
        f"{nanoseconds(int(layers['posix_in_mpiio_ns']))} in POSIX calls; the rest is {rest}",
        share,
        advice=advice(Kind.BETWEEN_LAYERS, _calling(evidence, calls), evidence.mpi),
        functions=tuple(name for name, _ in calls),
    )


def _waited_for_computation(evidence: Evidence) -> int:
    """In calls of MPI-IO, summed over ranks: until others that computed meanwhile came, too."""
    table = evidence.columns.get("dependences")
    if not table:
        return 0
    causes = table["causes"]
    doing = (causes["cause"]["state"], causes["cause"]["time_ns"])
    rows = zip(causes["function"], *doing, strict=True)
    return sum(
        int(time_ns)
        for function, state, time_ns in rows
        if state == "useful" and str(function).startswith("MPI_File_")
    )


def _between_text(calls: list[tuple[str, float]], outside: float) -> str:
    if not calls:
        return f"{percent(outside)} of the time in MPI-IO is spent outside the file system"
    named = " and ".join(name for name, _ in calls)
    verb = "takes" if len(calls) == 1 else "take"
    part = percent(sum(part for _, part in calls))
    text = f"{named} {verb} {part} of the time in MPI-IO"
    return f"{text}, {percent(outside)} of which is outside the file system"


def costly_calls(evidence: Evidence) -> list[tuple[str, float]]:
    """MPI-IO functions with a notable share of the time in MPI-IO, the largest first."""
    functions = evidence.columns["functions"]
    rows = zip(functions["name"], functions["layer"], functions["time_ns"], strict=True)
    times = {str(name): int(time_ns) for name, layer, time_ns in rows if layer == "mpiio"}
    whole = max(sum(times.values()), 1)
    parts = ((name, time_ns / whole) for name, time_ns in times.items())
    return sorted((p for p in parts if p[1] >= NAMED_CALL_SHARE), key=lambda part: -part[1])


def _calling(evidence: Evidence, calls: list[tuple[str, float]]) -> str:
    """How the costliest function is to be advised about."""
    name = calls[0][0] if calls else ""
    if PREALLOCATE.match(name):
        return "preallocation"
    functions = evidence.columns["functions"]
    made = calls_of_functions(functions, [name])
    often = made > OFTEN * evidence.ranks
    spent_ns = np.asarray(evidence.files["mpiio_ns"])
    file = int(spent_ns.argmax()) if len(spent_ns) else None
    library = evidence.library_in(file)
    if name == "MPI_File_set_view" and library in ON_MPIIO:
        return f"views of {library}"
    if name in SETTING_UP:
        files = int(np.count_nonzero(spent_ns))
        each = made > OFTEN * evidence.ranks * max(files, 1)
        return "set-up" if each else "one file" if files == 1 else "set-up once"
    if "_shared" in name or "_ordered" in name:
        moved_by, _ = shared_calls(functions)  # seeks say nothing of the direction
        return "shared reads" if "_read" in (moved_by or name) else "shared"
    if (call := MPIIO_CALL.match(name)) is None:
        single = {"": "", "MPI_File_set_size": "size", "MPI_File_sync": "sync"}
        return single.get(name, "other")
    few = bytes_of_functions(functions, [name]) < SMALL_BYTES * made
    if evidence.ranks == 1:
        return "one rank"
    if call["all"]:
        return "small collective" if often and few else ""
    if file is not None and goes_on(evidence, file):
        return f"{library}, consecutive" if few else "large and consecutive"
    if library in ON_MPIIO:
        return f"{library}, independent"
    return "independent reads" if call["kind"] == "read" else "independent"


def amplification(evidence: Evidence) -> Finding | None:
    """Data sieving: a share of all ranks' time, in the bytes that nobody asked for."""
    amplified, unasked = surplus(evidence)
    rows = np.flatnonzero(amplified)
    if not len(rows):
        return None
    moving_ns = np.sum([evidence.files[f"{kind}_ns"] for kind in MOVING_KINDS], axis=0)
    surplus_ns = (moving_ns * unasked)[rows]
    wasted_ns = max(float(surplus_ns.sum()) - evidence.waited_ns("io"), 0.0)
    share = evidence.share(wasted_ns / evidence.ranks)
    if share < NOTABLE_SHARE:
        return None
    file = int(rows[surplus_ns.argmax()])
    return Finding(
        Kind.AMPLIFICATION,
        amplification_text(evidence, file),
        f"{percent(float(unasked[file]))} of the bytes moved are not asked for",
        share,
        advice=advice(Kind.AMPLIFICATION, sieving_advised(evidence, file), evidence.mpi),
        file=evidence.path_of(file),
    )


def io_is_fine(evidence: Evidence) -> Finding | None:
    """Not said where the exchange inside MPI-IO, or what else it does around file calls, holds the
    run back: that is for the sake of I/O."""
    if evidence.is_notable(evidence.io_share, NOTABLE_SHARE):
        return None
    if exchange_share(evidence) >= NOTABLE_LOSS:
        return None
    between = between_layers(evidence)
    if not evidence.times.runtime_ns or (between and between.share_of_runtime >= NOTABLE_LOSS):
        return None
    if not evidence.holds_file_calls:
        return Finding(
            Kind.IO_NOT_IN_TRACE,
            "whether I/O holds this run back is not in the trace: it holds no file call",
            "what the program does with files is in no number of this report",
            evidence.io_share,
            advice=advice(Kind.IO_NOT_IN_TRACE),
        )
    return Finding(
        Kind.IO_FINE,
        "I/O does not hold this run back",
        f"an ideal file system would save at most {nanoseconds(evidence.losses.io_ns)} of "
        f"{nanoseconds(evidence.times.runtime_ns)} ({percent(evidence.io_share)}"
        f"{evidence.without_waits(evidence.io_share, ', {}')})",
        evidence.io_share,
    )


IO_DETAILS = (locks, between_layers, amplification)
