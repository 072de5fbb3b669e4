"""Findings about files: who does the I/O while others wait, and why the file calls take as long as they do.

Each function looks at the evidence and returns a Finding or None. A cause is named only when removing it would save a
notable share of the run time in the replays; counts of calls alone, which other tools go by, never make a finding.
"""

from dataclasses import dataclass

import numpy as np

from tailrace.evidence import STANDARD_STREAMS, Evidence, Finding, Requests, io_verb, sum_requests
from tailrace.units import NANOSECONDS_PER_SECOND, byte_count, count, nanoseconds, percent

# Two runs of one program on one machine differ by about this much: a smaller share is not worth a change.
NOTABLE_SHARE = 0.02
# So much of the time makes a group of ranks "the ones that do the I/O": the rest is opening and log lines.
DOING_SHARE = 0.9
# When uneven times in file calls explain less than this share of what even I/O would save, the rest is that ranks do
# their equal parts one after another.
UNEVEN_SHARE = 0.5
# Requests below this size cost more by their number than by their bytes: at 0.2 ms a request, usual on network
# file systems, 64 KiB is 330 MB/s, less than one client's link carries.
SMALL_REQUEST_BYTES = 64 * 1024
# Fewer requests than this per run are told by their time, not by their number.
MANY_REQUESTS = 1000
# A kind of call is named as the cause when it takes at least this share of the time in file calls.
CAUSE_SHARE = 0.4
# Time between the layers is worth a word when it is at least this share of the time in MPI-IO.
BETWEEN_SHARE = 0.2

LOCKING_FUNCTIONS = frozenset({"fcntl", "fcntl64", "flock", "lockf", "lockf64"})


def _seconds(time_ns: float) -> float:
    return float(time_ns) / NANOSECONDS_PER_SECOND


@dataclass(frozen=True)
class Culprits:
    """The ranks whose file calls keep the others waiting, and what they do."""

    ranks: np.ndarray
    requests: Requests
    name: str


def _culprits(evidence: Evidence) -> Culprits:
    """Those with nearly all of the excess over the middle rank, and the file that most of their excess goes to."""
    ranks = evidence.ranks_with_excess(DOING_SHARE)
    rows = evidence.rows_of_ranks(ranks.tolist())
    file = evidence.file_of(rows, evidence.file_excess_ns[rows])
    rows = evidence.rows_of_file(rows, file)
    return Culprits(ranks, sum_requests(evidence.columns["file_rank"], rows), evidence.name_of(rows, file))


def few_ranks_do_io(evidence: Evidence) -> Finding | None:
    """I/O balance: a serial master, few aggregators, ranks that take turns, or one slow rank."""
    loss = evidence.losses.io_balance_ns
    if evidence.share(loss) < NOTABLE_SHARE:
        return None
    unevenness = float(evidence.times.io_ns.max() - evidence.times.io_ns.mean())
    culprits = _culprits(evidence)
    if unevenness < UNEVEN_SHARE * loss:
        code, text, facts = _taking_turns(evidence)
    elif len(culprits.ranks) == 1 and culprits.requests.time_ns >= DOING_SHARE * _others_time_ns(evidence, culprits):
        code, text, facts = _serial(evidence, culprits)
    elif 0 < len(culprits.ranks) <= evidence.ranks // 2:
        code, text, facts = _few(evidence, culprits)
    else:
        code, text, facts = _uneven(evidence)
    gain = f"spreading this I/O evenly over all ranks would save {nanoseconds(loss)}"
    facts = f"{facts}; {evidence.concurrency:.1f} of {evidence.ranks} ranks are in I/O at a time"
    return Finding(code, text, facts, evidence.share(loss), gain, _seconds(loss))


def _serial(evidence: Evidence, culprits: Culprits) -> tuple[str, str, str]:
    kind = culprits.requests.kind
    rank, others = int(culprits.ranks[0]), evidence.ranks - 1
    wait = "the other rank waits" if others == 1 else f"{others} ranks wait"
    code = {"read": "serial_reader", "write": "serial_writer", "metadata": "serial_metadata"}[kind]
    text = f"rank {rank} {io_verb(kind)} {culprits.name} alone while {wait}"
    return code, text, f"{culprits.requests.described()} by rank {rank}; {_longer(evidence, rank)}"


def _longer(evidence: Evidence, rank: int) -> str:
    part = percent(float(evidence.times.io_ns[rank] / evidence.times.io_ns.sum()))
    spent = nanoseconds(evidence.times.io_ns[rank])
    return f"rank {rank} spends {spent} in file calls, {part} of all ranks' time there"


def _few(evidence: Evidence, culprits: Culprits) -> tuple[str, str, str]:
    ranks, kind = len(culprits.ranks), culprits.requests.kind
    verb = {"read": "read", "write": "write", "metadata": "open and look up"}[kind]
    text = f"only {ranks} of {evidence.ranks} ranks {verb} {culprits.name} while the others wait"
    if ranks == 1:
        text = f"rank {culprits.ranks[0]} {io_verb(kind)} {culprits.name} longer than the others, which wait for it"
    return "few_ranks", text, f"{culprits.requests.described()} by {count(ranks, 'rank')}"


def _taking_turns(evidence: Evidence) -> tuple[str, str, str]:
    text = f"ranks do their I/O one after another, {evidence.concurrency:.1f} of {evidence.ranks} at a time"
    return "taking_turns", text, evidence.requests.described()


def _uneven(evidence: Evidence) -> tuple[str, str, str]:
    rank = int(evidence.times.io_ns.argmax())
    times = float(evidence.times.io_ns[rank] / evidence.times.io_ns.mean())
    text = f"rank {rank} spends {times:.1f} times the mean in I/O and the others wait for it"
    return "uneven_io", text, evidence.requests.described()


def _others_time_ns(evidence: Evidence, culprits: Culprits) -> int:
    """Time of all ranks in the calls that the culprits' excess is about."""
    table = evidence.columns["file_rank"]
    rows = evidence.rows_of_ranks(culprits.ranks.tolist())
    file = evidence.file_of(rows, evidence.file_excess_ns[rows])
    if file is None:
        return int(evidence.times.io_ns.sum())
    return sum_requests(table, evidence.rows_of_file(range(len(table["rank"])), file)).time_ns


def slow_file_calls(evidence: Evidence) -> Finding | None:
    """I/O transfer: what remains when the calls are spread evenly is the file system, or how it is asked."""
    loss = evidence.losses.io_transfer_ns
    if evidence.share(loss) < NOTABLE_SHARE or not evidence.requests.time_ns:
        return None
    code, text, facts = _why_slow(evidence)
    return Finding(
        code,
        text,
        f"{facts}; {percent(_io_fraction(evidence))} of all ranks' time is spent in file calls",
        evidence.share(loss),
        f"on an ideal file system the evenly spread calls would save {nanoseconds(loss)}",
        _seconds(loss),
    )


def _io_fraction(evidence: Evidence) -> float:
    return evidence.share(float(evidence.times.io_ns.mean()))


def _why_slow(evidence: Evidence) -> tuple[str, str, str]:
    """Code, finding and facts of the cause that takes most of the time in file calls."""
    requests = evidence.requests
    if _lock_time_ns(evidence) >= CAUSE_SHARE * requests.time_ns:
        return "locks", "file calls wait for file locks", requests.described()
    if requests.metadata_ns >= CAUSE_SHARE * requests.time_ns:
        calls = count(requests.metadata_calls, "call")
        text = f"{calls} that open, close, synchronise or look up files take most of the I/O time"
        return "metadata", text, requests.described()
    if small := _small_requests(evidence):
        return "small_requests", small, requests.described()
    return _slow_file(evidence)


def _slow_file(evidence: Evidence) -> tuple[str, str, str]:
    """The file with most of the time, and the rate at which a rank moves its bytes."""
    table, kind = evidence.columns["file_rank"], evidence.requests.kind
    rows = list(range(len(table["rank"])))
    file = evidence.file_of(rows, np.asarray(table[f"{kind}_ns"], dtype=np.int64))
    rows = evidence.rows_of_file(rows, file)
    requests = sum_requests(table, rows)
    speed = requests.speed(kind)
    at = f" at {speed} a rank" if speed else ""
    return "slow_file_system", f"{_participle(kind)} {evidence.name_of(rows, file)}{at}", requests.described()


def _participle(kind: str) -> str:
    return {"read": "reading", "write": "writing", "metadata": "opening and looking up"}[kind]


def _small_requests(evidence: Evidence) -> str:
    """Names small requests where files that are read or written in many of them take most of the I/O time."""
    table = evidence.columns["files"]
    calls = np.asarray(table["reads"], dtype=np.int64) + np.asarray(table["writes"], dtype=np.int64)
    moved = np.asarray(table["bytes_read"], dtype=np.int64) + np.asarray(table["bytes_written"], dtype=np.int64)
    streams = np.asarray([bytes(path) in STANDARD_STREAMS for path in table["path"]], dtype=bool)
    rows = np.flatnonzero((calls > 0) & (moved < SMALL_REQUEST_BYTES * calls) & ~streams)
    small = sum_requests(table, rows)
    requests = small.reads + small.writes
    if requests < MANY_REQUESTS or small.read_ns + small.write_ns < CAUSE_SHARE * evidence.requests.time_ns:
        return ""
    mean = byte_count((small.bytes_read + small.bytes_written) / requests)
    return f"{requests:,} small requests of {mean} on average take most of the I/O time"


def _lock_time_ns(evidence: Evidence) -> int:
    functions = evidence.columns["functions"]
    pairs = zip(functions["name"], functions["time_ns"], strict=True)
    return sum(int(time_ns) for name, time_ns in pairs if _text(name) in LOCKING_FUNCTIONS)


def _text(name: bytes | str) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def locks(evidence: Evidence) -> Finding | None:
    """Time in fcntl, flock and lockf, which only a lock makes long. A share of all ranks' time."""
    time_ns = _lock_time_ns(evidence)
    share = evidence.share(time_ns / max(evidence.ranks, 1))
    if share < NOTABLE_SHARE:
        return None
    return Finding(
        "locks",
        f"ranks wait for file locks {percent(share)} of their time",
        f"{nanoseconds(time_ns)} in fcntl, flock and lockf over {count(evidence.ranks, 'rank')}",
        share,
        "collective or aligned requests need no locks; so do file systems mounted without them",
    )


def between_layers(evidence: Evidence) -> Finding | None:
    """Time in MPI-IO outside the POSIX calls nested in it: waiting, exchange, locks. A share of all ranks' time."""
    layers = evidence.columns["layers"]
    mpiio, between = int(layers["mpiio_ns"]), int(layers["between_ns"])
    share = evidence.share(between / max(evidence.ranks, 1))
    if share < NOTABLE_SHARE or between < BETWEEN_SHARE * mpiio:
        return None
    return Finding(
        "between_layers",
        f"{percent(between / mpiio)} of the time in MPI-IO is spent outside the file system",
        f"{nanoseconds(mpiio)} in MPI-IO calls over {count(evidence.ranks, 'rank')}, of which "
        f"{nanoseconds(int(layers['posix_in_mpiio_ns']))} in POSIX calls; the rest is waiting for other ranks, "
        "exchanging data, and locks inside the MPI library",
        share,
        "compare collective with independent calls, and other numbers of aggregators (hint cb_nodes)",
    )


def io_is_fine(evidence: Evidence) -> Finding | None:
    if evidence.io_share >= NOTABLE_SHARE or not evidence.times.runtime_ns:
        return None
    return Finding(
        "io_fine",
        "I/O does not hold this run back",
        f"an ideal file system would save {nanoseconds(evidence.losses.io_ns)} of "
        f"{nanoseconds(evidence.times.runtime_ns)} ({percent(evidence.io_share)})",
        evidence.io_share,
    )


IO_CAUSES = (few_ranks_do_io, slow_file_calls)
IO_DETAILS = (locks, between_layers)
