"""Findings beside I/O: computation, network, and whether the trace itself can be believed."""

import numpy as np

from tailrace.units import byte_count, count, nanoseconds, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.between import UNEVEN, between_calls_ns, kind_between
from tailrace.verdict.compression import compression_ns
from tailrace.verdict.elsewhere import elsewhere
from tailrace.verdict.ends import computed_at_most_ns, many_are_lost, much_is_unknown, unknown_ns
from tailrace.verdict.evidence import NOTABLE_LOSS, TOO_SHORT_NS, Evidence, Finding, Kind
from tailrace.verdict.flushes import flushed_file
from tailrace.verdict.made_before import made_before
from tailrace.verdict.messages import (
    kind_of_messages,
    mpi_functions,
    waits_for_all,
    waits_for_windows,
)
from tailrace.verdict.names_of_files import WITH_TABLES
from tailrace.verdict.off_path import (
    asleep,
    overlapped_io_ns,
    slept_share,
    slept_text,
    waits_for_pages,
    who_else,
    who_runs_meanwhile,
)
from tailrace.verdict.polls import Poll, meanwhile_polled, polled_asleep, polls_of_files
from tailrace.verdict.requests import (
    MOVING_KINDS,
    REOPENED,
    SETTING_UP,
    VERBS,
    moves_little_alone,
    mpiio_ways,
    sums_of,
)
from tailrace.verdict.routines import SLOWEST_BYTES_PER_S, output_routine_ns
from tailrace.verdict.sleepers import looks_at_memory
from tailrace.verdict.spawned import awaited_ns, waits_for_spawned
from tailrace.verdict.streams import slept_in_streams, streams, streams_ns

# Ranks that compute less than this share of the longest do something else, where the others are
# even: the longest takes no more than so many times the mean of them.
IDLE_SHARE = 0.5
EVEN = 1.1
# Who reads or writes so much of all bytes may compute longer for the sake of it, if these are no
# fewer than parsing or formatting makes of that time.
MOVES_NEARLY_ALL = 0.9
# Who writes so much of what he reads, or the other way round, does both.
ONE_ORDER = 1 / 3
# So much of an unevenness is what other findings name; what is left is said to be apart from it.
MOSTLY_NAMED = 0.5
APART = ", apart from what other findings name"
# Who formats for so much of what he is busy longer may do so where no call shows it, too: what is
# done before the first write lies between no two.
ALIKE = 0.5
# … as a finding says it, and as the first line does.
PREPARES = {
    "write": ("prepares what it writes", "preparing what is written"),
    "read": ("works on what it has read", "working on what was read"),
}
# Where so much of a loss lies inside MPI-IO, MPI outside it does not explain it.
EXCHANGE_SHARE = 0.5
# Who so mostly waits for a file is not at work.
NOT_AT_WORK = 0.8
# Where an even computation would spare nearly all of what uneven one costs, no file calls are in
# its way.
MOST_SPARED = 0.9
# A function is named with at least this share of the time in MPI.
COSTLIEST_SHARE = 0.5


def imbalance(evidence: Evidence) -> Finding | None:
    """Load balance: avg U / max U. Not where calls were lost: a rank's time ends with the
    last that was recorded. What formatting, parsing and printing take is said by findings of their
    own, and is no uneven computation beside them."""
    if many_are_lost(evidence):
        return None
    named_ns, times = _named_ns(evidence), evidence.times
    useful = computed_at_most_ns(evidence, named_ns)
    at_least, supposing = "", ""
    if unknown_ns(evidence).any():
        at_least, supposing = "at least ", ", if ranks computed where nothing is known of them"
    mean_ns, longest = float(times.mean_ns(useful)), _beyond_mean(evidence, useful)
    if _is_mostly_named(evidence, named_ns, useful, longest):
        return None
    rank = int((evidence.computed_ns - named_ns).argmax())
    polls = [
        poll for poll in polls_of_files(evidence) if poll.rank != rank and poll.share >= NOT_AT_WORK
    ]
    loss, spread = _spared(evidence, longest, polls)
    if evidence.share(loss) < NOTABLE_LOSS or looks_at_memory(evidence) == rank:
        return None
    longer = f"{at_least}{useful[rank] / mean_ns:.2f} times as long as the ranks on average"
    if share := asleep(evidence):
        outside = f"rank {rank} is outside MPI and file calls {longer}"
        return _uneven_sleep(evidence, outside, share, loss, polls)
    known = sorted(set(range(times.ranks)) - set(times.missing))
    least = min(known, key=lambda p: useful[p])
    idle = _idle(useful[known])
    who, kind, prepared = f"rank {rank}", "", ""
    longer_ns = float(useful[rank]) - mean_ns
    if moves := _moves_nearly_all(evidence, rank, to_seconds(longer_ns)):
        verb, moved = moves
        who = f"{who}, which {verb} {percent(moved)} of the bytes,"
        kind = _advised_of_moved(evidence, rank, verb)
    elif not idle.any() and (prepared := _prepares(evidence, rank, longer_ns)):
        who = f"{who} {PREPARES[prepared][0]} where no call shows it, or"
        kind = _advised_of_moved(evidence, rank, VERBS[prepared][0])
    text = f"{who} computes {longer}"
    if idle.any():
        busy_ns, idle_ns = useful[known][~idle].mean(), useful[known][idle].mean()
        who = f"rank {least} computes" if idle.sum() == 1 else f"{idle.sum()} ranks compute"
        text, kind = f"{who} {percent(idle_ns / busy_ns)} of what the others compute", "idle"
    apart = APART if named_ns.any() else ""
    return Finding(
        Kind.LOAD_IMBALANCE,
        f"{text}{apart}",
        f"useful time: {nanoseconds(useful[rank])} on rank {rank}, "
        f"{nanoseconds(int(mean_ns))} on average, {nanoseconds(useful[least])} on rank {least}"
        f"{supposing}{meanwhile_polled(polls)}",
        evidence.share(loss),
        f"{spread} would save at most {nanoseconds(int(loss))}{supposing}",
        to_seconds(loss),
        advice(Kind.LOAD_IMBALANCE, kind),
        kinds=(prepared,) if prepared else (),
    )


def _beyond_mean(evidence: Evidence, useful: np.ndarray) -> float:
    """By how much the longest of these computations, of each rank, is longer than a mean one of the
    ranks that were found; no more than the loss."""
    beyond = float(useful.max(initial=0)) - float(evidence.times.mean_ns(useful))
    return min(float(evidence.losses.imbalance_ns), beyond)


def _named_ns(evidence: Evidence) -> np.ndarray:
    """Length P: of each rank's useful time, what other findings say what it is. Between two writes
    of a routine is the routine's time, too, and compressing may be either's."""
    between_ns, routine_ns = between_calls_ns(evidence), output_routine_ns(evidence)
    inside_ns = np.maximum(between_ns, compression_ns(evidence))
    return np.maximum(inside_ns, routine_ns) + streams_ns(evidence)


def _prepares(evidence: Evidence, rank: int, longer_ns: float) -> str:
    """The kind of calls that the rank formats or parses between, where that is notable, more than
    the others do, and much of what it is busy longer besides: as pandas makes a block's text before
    it writes the first line of it. Else empty."""
    between_ns = between_calls_ns(evidence)
    mean_ns = float(evidence.times.mean_ns(between_ns))
    notable = evidence.share(float(between_ns[rank])) >= NOTABLE_LOSS
    more = between_ns[rank] > UNEVEN * mean_ns and between_ns[rank] >= ALIKE * longer_ns
    return kind_between(evidence) if notable and more else ""


def _is_mostly_named(
    evidence: Evidence, named_ns: np.ndarray, useful: np.ndarray, left: float
) -> bool:
    """Whether other findings name most of what the longest rank is useful longer than the others:
    they say how long it takes at least, so that what is left of it may be the same."""
    longest = _beyond_mean(evidence, computed_at_most_ns(evidence))
    rank = int(evidence.computed_ns.argmax())
    same = bool(named_ns.any()) and useful[rank] == useful.max()
    return same and longest - left >= MOSTLY_NAMED * longest


def _spared(evidence: Evidence, longest: float, polls: list[Poll]) -> tuple[float, str]:
    """What of the longest computation's surplus could be spared, and by what. Who reads or writes
    while the others compute, as a server of I/O does, has no time to compute as long as they do:
    the run lasts at least as long as a mean computation and its file calls."""
    losses = evidence.losses
    beyond = float(losses.imbalance_ns + losses.serialization_ns + losses.io_ns)
    waited_ns = evidence.waited_by_rank_ns("io") + evidence.by_rank("lock").time_ns
    for poll in polls:
        waited_ns[poll.rank] += poll.time_ns
    calls_ns = np.clip(evidence.times.io_ns - waited_ns, 0, None)
    if (alone := beyond - float(calls_ns.max(initial=0))) >= MOST_SPARED * longest:
        return min(longest, alone), "an even computation"
    both = beyond - evidence.times.mean_ns(calls_ns)
    return max(min(longest, both), 0.0), "computation and file calls spread evenly"


def _uneven_sleep(
    evidence: Evidence, outside: str, share: float, loss: float, polls: list[Poll]
) -> Finding:
    """The main thread of the rank that seems to compute longest sleeps for most of that, or for
    most of what it is there longer, while others wait for the rank in MPI. Other threads may
    compute meanwhile, which is not known."""
    useful = computed_at_most_ns(evidence)
    mean_ns = int(evidence.times.mean_ns(useful))
    return Finding(
        Kind.LOAD_IMBALANCE,
        f"{outside}, and its main thread sleeps for at least {percent(share)} of that",
        f"outside MPI and file calls: {nanoseconds(useful.max())} on that rank, "
        f"{nanoseconds(mean_ns)} on average{meanwhile_polled(polls)}",
        evidence.share(loss),
        "if no rank spent longer there than the ranks on average, the run would be up to "
        f"{nanoseconds(int(loss))} shorter",
        to_seconds(loss),
        advice(Kind.LOAD_IMBALANCE, "asleep"),
    )


def _moves_nearly_all(evidence: Evidence, rank: int, longer_s: float) -> tuple[str, float] | None:
    """That the rank reads, or writes, and what share of all bytes that are: of the two the one with
    more bytes, or both. None where others do it too, or these are few for so long a time, unless it
    alone may compress them, or make text of them."""
    moved = {kind: evidence.by_rank(kind).bytes for kind in MOVING_KINDS}
    less, more = sorted(moved, key=lambda kind: int(moved[kind][rank]))
    both = int(moved[less][rank]) >= ONE_ORDER * int(moved[more][rank])
    made = made_before(evidence)
    makes = made is not None and made.ranks == (rank,)
    kinds = ["write"] if makes else MOVING_KINDS if both else [more]
    of_rank, whole = np.sum([(moved[kind][rank], moved[kind].sum()) for kind in kinds], axis=0)
    if not whole or (not makes and whole <= SLOWEST_BYTES_PER_S * longer_s):
        return None
    share = float(of_rank / whole)
    verb = " and ".join(VERBS[kind][0] for kind in kinds)
    return (verb, share) if share >= MOVES_NEARLY_ALL else None


def _advised_of_moved(evidence: Evidence, rank: int, verb: str) -> str:
    """What lies in files of HDF5 or netCDF is binary. Their library itself does a lot to open one
    and to close it."""
    rows, table = evidence.rows_of_ranks([rank]), evidence.file_rank
    moved = np.asarray(table["bytes_read"])[rows] + np.asarray(table["bytes_written"])[rows]
    file = evidence.file_of(rows, moved)
    if evidence.library_in(file) not in WITH_TABLES:
        return verb
    opens = sum(int(table["opens"][row]) for row in evidence.rows_of_file(rows, file))
    return "reopened" if opens >= REOPENED else flushed_file(evidence, file) or "binary"


def _idle(useful: np.ndarray) -> np.ndarray:
    """Which ranks compute little, as a master does that hands out work, while all others are even;
    else none."""
    idle = useful < IDLE_SHARE * useful.max()
    busy = useful[~idle]
    alone = 2 * idle.sum() < len(useful) and useful.max() <= EVEN * busy.mean()
    return idle if alone else np.zeros_like(idle)


def serialization(evidence: Evidence) -> Finding | None:
    """Serialization: max U / T_ideal, less what others waited for capture at most, and for ranks
    that had to be started first."""
    own_ns = evidence.overhead.most_ns if evidence.overhead.notable else 0
    loss = max(evidence.losses.serialization_ns - own_ns, 0)
    if (spawned := waits_for_spawned(evidence, loss)) and not much_is_unknown(evidence):
        return spawned
    loss = max(loss - awaited_ns(evidence), 0)
    if evidence.share(loss) < NOTABLE_LOSS or much_is_unknown(evidence):
        return None
    other, verb = "computation", "computes"
    if asleep(evidence):
        other, verb = "time outside MPI and file calls", "is outside them"
    return Finding(
        Kind.SERIALIZATION,
        f"ranks wait for each other's {other}",
        "even with an ideal network and file system the run takes "
        f"{nanoseconds(evidence.times.ideal_ns)}, "
        f"though no rank {verb} longer than {nanoseconds(evidence.times.useful_max_ns)}",
        evidence.share(loss),
        f"without waiting for each other's {other} the run would be up to "
        f"{nanoseconds(loss)} shorter",
        to_seconds(loss),
        advice(Kind.SERIALIZATION, _awaited(evidence)),
    )


def _awaited(evidence: Evidence) -> str:
    """In which calls ranks wait for each other."""
    if waits_for_windows(evidence):
        return "windows"
    return "collective" if waits_for_all(evidence) else ""


def exchange_share(evidence: Evidence) -> float:
    """At most this share of the run is lost to transfers inside MPI-IO.

    It is what an ideal network would save, as far as the ranks' mean time between the layers can
    account for it. Waiting there for late ranks is serialization, not transfer.
    """
    total_ns = int(evidence.columns["layers"]["between_ns"]) - evidence.waited_ns("mpi")
    between_ns = max(total_ns, 0) / max(evidence.ranks, 1)
    return evidence.share(min(between_ns, float(evidence.losses.transfer_ns)))


def network(evidence: Evidence) -> Finding | None:
    """Transfer: T_net / T. One rank sends nothing over a network: what MPI takes there is the
    library itself."""
    loss = evidence.losses.transfer_ns
    if evidence.share(loss) < NOTABLE_LOSS or much_is_unknown(evidence):
        return None
    share = percent(evidence.share(loss))
    part = exchange_share(evidence) / evidence.share(loss)
    within = f", up to {percent(part)} of that inside MPI-IO calls" if part >= NOTABLE_LOSS else ""
    times = evidence.times
    if evidence.ranks == 1:
        finding = f"MPI calls take {share} of the run{within}"
        facts = "there is one rank, so this is the MPI library itself, or other programs' answers"
        gain = f"without MPI calls the run would be up to {nanoseconds(loss)} shorter"
    else:
        finding = f"transfers and the MPI library take {share} of the run{within}"
        facts = (
            f"run time {nanoseconds(times.runtime_ns)}, on an ideal network "
            f"{nanoseconds(times.ideal_network_ns)}"
        )
        gain = f"an ideal network would save at most {nanoseconds(loss)}"
    return Finding(
        Kind.NETWORK,
        finding,
        f"{facts}{_costliest(evidence) if part < EXCHANGE_SHARE else ''}",
        evidence.share(loss),
        gain,
        to_seconds(loss),
        advice(Kind.NETWORK, _kind_of_transfer(evidence, part), evidence.mpi),
    )


def _costliest(evidence: Evidence) -> str:
    """The function with most of the time in MPI, in which waiting is included."""
    functions = mpi_functions(evidence)
    whole = sum(called.time_ns for called in functions)
    if not whole or functions[0].time_ns < COSTLIEST_SHARE * whole:
        return ""
    most = functions[0]
    mean = f" of {byte_count(most.bytes / most.calls)} on average" if most.bytes else ""
    part, calls = percent(most.time_ns / whole), count(most.calls, "call")
    return f"; {most.name} has {part} of the time in MPI outside file calls, {calls}{mean}"


def _kind_of_transfer(evidence: Evidence, in_mpiio: float) -> str:
    if evidence.ranks == 1:
        return "one rank"
    if in_mpiio < EXCHANGE_SHARE:
        return kind_of_messages(evidence)
    functions = evidence.columns["functions"]
    ways = mpiio_ways(functions)
    if sums_of(functions, SETTING_UP)[1] > sum(ways.values()):
        return "mpiio, set-up"
    # a rank that reads and writes on its own exchanges nothing, and has no aggregator
    alone = 2 * ways["independent"] > sum(ways.values())
    independent = "mpiio, independent" if moves_little_alone(functions) else "mpiio, large"
    return independent if alone else "mpiio"


def processors(evidence: Evidence) -> Finding | None:
    """Run delay: ready to run, and not running."""
    found = evidence.processors
    if found is None or not found.notable:
        return None
    ranks = max(int(found.known.sum()), 1)
    states = (("useful", "computing"), ("io", "in file calls"), ("mpi", "in MPI"))
    waits = ((found.waited_in(key) // ranks, name) for key, name in states)
    each = ", ".join(f"{nanoseconds(wait)} {name}" for wait, name in waits if wait)
    facts = f"a rank waited {each} on average; none of that is blamed on the network, "
    facts += "the file system or other ranks"
    lost = evidence.share(float(evidence.losses.processors_ns))
    if lost > found.share + NOTABLE_LOSS:
        facts += f"; with others' waiting for those ranks it costs {percent(lost)} of the run"
    if evidence.ranks == 1:
        facts = f"it waited {each}; none of that is blamed on the file system"
    return Finding(
        Kind.PROCESSORS,
        found.described(),
        facts,
        found.share,
        advice=advice(Kind.PROCESSORS, "too few" if found.ranks > found.cores > 0 else ""),
    )


def sleep(evidence: Evidence) -> Finding | None:
    """Useful time in which the main thread neither ran nor could have."""
    share = slept_share(evidence)
    if share < NOTABLE_LOSS or slept_in_streams(evidence, share):
        return None
    who = "the main thread sleeps" if evidence.ranks == 1 else "the ranks' main threads sleep"
    polls = polled_asleep(evidence)
    meanwhile = who_runs_meanwhile(evidence)
    # it may sleep in one that was not
    calls = "file calls that were recorded" if many_are_lost(evidence) else "file calls"
    return Finding(
        Kind.SLEEP,
        f"{who} {slept_text(evidence)} outside MPI and {calls}{polls}"
        f"{f', and {meanwhile}' if meanwhile else ''}",
        "that time counts as useful; Tailrace does not see what a thread waits for there"
        f"{_meanwhile_in_files(evidence)}",
        share,
        advice=advice(Kind.SLEEP, _awaited_asleep(evidence, polls, meanwhile)),
    )


def _awaited_asleep(evidence: Evidence, polls: str, meanwhile: str) -> str:
    if polls or meanwhile:
        return "polls" if polls else "others run"
    return "pages" if waits_for_pages(evidence) else ""


def _meanwhile_in_files(evidence: Evidence) -> str:
    """Who sleeps may wait for others' files, though no longer than those take."""
    if not (spent_ns := overlapped_io_ns(evidence)):
        return ""
    return f"; {who_else(evidence)} spend {nanoseconds(spent_ns)} in file calls in all"


def capture_overhead(evidence: Evidence) -> Finding | None:
    """Not said of a run that is too short to judge: starting to record is most of it there. Of
    several ranks it is the time of one: the run is not longer by it where that rank would have
    polled meanwhile, and longer by more where ranks wait for each other's."""
    found = evidence.overhead
    if not found.notable or evidence.times.runtime_ns < TOO_SHORT_NS:
        return None
    events = int(evidence.columns["rank"]["events"][found.rank])
    each = float(evidence.columns["capture"]["cost_ns_per_event"] or 0)
    how = f"at {each:.0f} ns each"
    if found.measured:
        how = "timed where they were recorded, and what was counted beside them"
    where, whose, effect = "", "of the run", ""
    if evidence.ranks > 1:
        where, whose = f" on rank {found.rank}", f"of rank {found.rank}'s time"
        effect = (
            "; the run is longer by less where that rank would have polled meanwhile, and by more"
            " where ranks wait for each other's delays"
        )
    return Finding(
        Kind.CAPTURE_OVERHEAD,
        f"capture itself takes {percent(found.share)} {whose}",
        f"{nanoseconds(found.most_ns)}{where}: {count(events, 'event')} {how}{effect}",
        found.share,
    )


def incomplete_trace(evidence: Evidence) -> Finding | None:
    """Streams without an end; of lost calls the first line speaks."""
    capture = evidence.columns["capture"]
    if capture["complete"] or evidence.lost_share:
        return None
    who = "ranks" if evidence.columns["meta"].get("mpi") else "processes"
    what = f"some {who} ended without closing their trace"
    return Finding(
        Kind.INCOMPLETE_TRACE,
        f"the trace is not complete: {what}",
        "; ".join(capture["notes"]) or what,
        0.0,
    )


def part_of_run(evidence: Evidence) -> Finding | None:
    """What MPI_Pcontrol chose, where the program calls it."""
    if not (whole_ns := evidence.chosen_of_ns):
        return None
    part = f"{nanoseconds(evidence.times.runtime_ns)} of the {nanoseconds(whole_ns)}"
    return Finding(
        Kind.PART_OF_RUN,
        f"this report is about {part} between MPI_Init and MPI_Finalize: what MPI_Pcontrol chose",
        "it begins at the first call with a level above 0, or with the run, and ends at the call "
        "with 0 behind which no other level is chosen, or with the run",
        0.0,
    )


# What holds a run back beside I/O, and what makes the trace itself doubtful.
BOTTLENECKS = (imbalance, serialization, network, streams, elsewhere, sleep)
DOUBTS = (processors, capture_overhead, incomplete_trace, part_of_run)
