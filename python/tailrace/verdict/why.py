"""Why file calls take as long as they do: findings about what an ideal file system would save.

The kind of call with most time decides, and its time is always given as a share of the I/O time.
Within a kind, a cause is named only where at least half of its time is in files of which that is
so (tests/python/test_verdict_why.py has for each a case where it is, and one where it is not):

| sentence                                | said when                                             |
|-----------------------------------------|-------------------------------------------------------|
| the pointer that ranks share, which n   | ROMIO's file of a shared pointer has half of the time |
| calls of F lock and move                | in all file calls                                     |
| waiting for n calls of MPI_File_iwrite  | half of the time in file calls is in waits for such   |
| a stream was asked for m bytes of F, and| see amplification.py: half of the time in file calls  |
| read n: it fills its buffer anew …      | is in a stream's seeks and reads                      |
| n fsyncs of x each                      | synchronising takes most                              |
| n flushes of m bytes                    | most writes, and most of their time, are fflush's, or |
|                                         | std::endl's, less than 64 KiB, a thousand of them     |
| F is opened n times, for m requests each| F is opened more than REOPENED times by each rank, few|
|                                         | requests follow, and files are not renamed as often;  |
|                                         | or half of the time of small requests is in such files|
| F is opened and written anew n times    | the same, and all of it is written at each open       |
| n files of m bytes                      | MANY_FILES opened, of less than 1 MB; no slow one; or |
|                                         | read or written by FEW_REQUESTS each time             |
| n files of zarr's metadata are written m| see zarr.py                                           |
| times                                   |                                                       |
| n opens and look-ups for Python's       | half of the time for files' names is on modules' paths|
| modules                                 |                                                       |
| n opens of F, hardly any of them closed | fewer than a tenth of its opens are closed, or another|
| again                                   | call follows                                          |
| …, nearly all of them in vain           | the same, but some are: it is waited for              |
| n look-ups                              | they take half of the time for files' names           |
|                                         | (a few of each of MANY_FILES count as theirs)         |
| n of m writes to F failed               | see failures.py: they take half of the time of writes |
| n renames of x each, and the like       | none of these; a second kind with a tenth of the time |
| each of P ranks reads all m bytes of F  | each rank reads as many bytes as the ranks' reads span|
| m bytes are read from n bytes of F      | the bytes read are twice those that reads span        |
| m bytes are written to n bytes of F     | see same_bytes.py: 1.5 times what writes span, each   |
|                                         | time that it is opened                                |
| each of P ranks reads m bytes of F      | as many bytes each, from places that are not known    |
| asked for m bytes, n are moved          | file system moves 1.5 × what MPI-IO calls were asked  |
| reads jump back and forth; go backward  | a fifth goes back, a fifth forward, less than half on;|
|                                         | half goes back                                        |
| n reads that find nothing, x each: …     | see at_the_end.py                                     |
| n small requests that take x each       | less than 64 KiB, at least 0.1 ms with a processor    |
|                                         | (or without: that of other threads is not known)      |
| n small requests                        | less than 64 KiB, and at least a thousand of them     |
| m prints in n requests                  | the same, of what a buffer of stdio gathered: m > n   |
| … interleaved by n ranks in F           | they skip forward over the same stretch, begin at     |
|                                         | different places, and have room there                 |
| … one every m bytes of F                | they skip forward, but not so                         |
"""

from collections.abc import Callable, Iterable

import numpy as np

from tailrace.names import base_name
from tailrace.units import byte_count, count, nanoseconds, percent, to_seconds
from tailrace.verdict.advice import advice
from tailrace.verdict.advice_libraries import whose
from tailrace.verdict.amplification import amplified, read_after_seeks
from tailrace.verdict.at_the_end import end_is_asked
from tailrace.verdict.cause import (
    CAUSE_SHARE,
    ONE_FILE_SHARE,
    OPENED_WITH,
    Cause,
    dominant,
    only_row,
    part_of_io,
    where_of,
)
from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.failures import failing
from tailrace.verdict.flushes import flushed_by_library, flushes, synchronised_by_library
from tailrace.verdict.libraries import by_log
from tailrace.verdict.modules import are_modules
from tailrace.verdict.names_of_files import (
    in_names,
    often_opened,
    opened_for_each,
    read_at_each_open,
    whole_files,
)
from tailrace.verdict.not_blocking import waits_for_requests
from tailrace.verdict.off_path import of_others_mostly
from tailrace.verdict.requests import (
    KINDS,
    LARGE_SYNC_BYTES,
    MANY_REQUESTS,
    METADATA_KINDS,
    MOSTLY_EMPTY,
    MOSTLY_SMALL,
    MOVING_KINDS,
    WAITING_NS,
    Use,
    calls_of,
    calls_of_functions,
    gathered_of,
    has_large_ones,
    moved_column,
    mpiio_ways,
    noun_of,
    small_ones_of,
    sum_use,
    sums_of,
    waits_for_collective,
)
from tailrace.verdict.same_bytes import read_again, written_again
from tailrace.verdict.shared_files import are_unmerged, goes_on, locked_by, shared_pointer
from tailrace.verdict.slow_file import slow_file

# Two runs of one program on one machine differ by about this much: a smaller share is not worth a
# change.
NOTABLE_SHARE = 0.02
# Of STDIO, but without a stream that would have a buffer.
DESCRIPTOR_PRINTS = ("dprintf", "vdprintf", "__dprintf_chk", "__vdprintf_chk")
# Who calls them has told the system what it will read.
READ_AHEAD = ("posix_fadvise", "posix_fadvise64")
# They take RWF_SYNC and RWF_DSYNC.
WITH_FLAGS = ("pwritev2", "pwritev64v2")
JUMPING = 0.2
# Locks beside so few other calls are for none of these.
FEW_BESIDE_LOCKS = 0.1
# Libraries whose files are one by MPI-IO, where ranks share them.
ON_MPIIO = ("hdf5", "netcdf", "pnetcdf")


def why_slow(evidence: Evidence, loss: int) -> Finding | None:
    """`loss`: of what an ideal file system would save, that which is not for uneven I/O."""
    notable = evidence.is_notable(evidence.share(loss), NOTABLE_SHARE)
    if not notable or not evidence.use.time_ns():
        return None
    cause = _cause(evidence)
    fraction = percent(evidence.share(float(evidence.times.mean_ns(evidence.times.io_ns))))
    whose = "all ranks'" if evidence.ranks > 1 else "the"
    waited = 1 - evidence.ran_in_io
    waiting = f", {percent(waited)} of that waiting for a processor"
    still = " still" if loss < evidence.losses.io_ns else ""  # than with even I/O
    return Finding(
        cause.code,
        cause.finding,
        f"{cause.facts}; {fraction} of {whose} time is spent in file calls"
        f"{waiting if waited >= NOTABLE_SHARE else ''}",
        evidence.share(loss),
        f"if file calls took no time, the run would be up to {nanoseconds(loss)} shorter{still}",
        to_seconds(loss),
        _advice(evidence, cause),
        evidence.path_of(cause.file),
        functions=cause.functions,
    )


def what_takes_longest(evidence: Evidence) -> tuple[str, str]:
    """The cause in words, without regard to what it costs, and what is advised about it: of
    whatever threads made the calls. Empty where there are none."""
    if not evidence.use.time_ns():
        return "", ""
    cause = _cause(evidence)
    return cause.finding, _advice(evidence, cause)


def _advice(evidence: Evidence, cause: Cause) -> str:
    known = whose(cause.code, _library(evidence, cause), cause.advised)
    if cause.code is Kind.SMALL_REQUESTS and known == "posix":
        known = KINDS[max(MOVING_KINDS, key=evidence.use.time_ns)][0]
    return advice(cause.code, known, evidence.mpi)


def _library(evidence: Evidence, cause: Cause) -> str:
    """Of the file that the cause is about, or of the one with most time; of MPI-IO the way in which
    most of the time is."""
    files = evidence.files
    file = _most(evidence, KINDS) if cause.file is None else cause.file
    library = by_log(evidence.library_in(file), files["path"], file)
    ways = mpiio_ways(evidence.columns["functions"])
    way = max(ways, key=lambda way: ways[way])
    shared = int(files["mpiio_ns"][file]) > 0 and int(files["ranks"][file]) > 1
    if cause.code is Kind.METADATA and library == "hdf5" and not shared:
        return "posix"  # nothing of it is collective
    small = cause.code in (Kind.SMALL_REQUESTS, Kind.SLOW_SMALL_REQUESTS)
    if small and shared and way == "collective" and are_unmerged(evidence, file):
        return "unmerged"
    if small and library in ON_MPIIO and shared:
        called = "consecutive" if way == "independent" and goes_on(evidence, file) else way
        return f"{library}, {called}" if ways[way] else library
    if not small or library not in ("mpiio", "posix"):
        return library
    if files["ranks"][file] == 1:
        return "posix"  # no other rank has anything to merge
    if way == "independent" or ways[way] < CAUSE_SHARE * evidence.use.time_ns():
        consecutive = library == "mpiio" and goes_on(evidence, file)
        return "mpiio, consecutive" if consecutive else library
    waited = way == "collective" and waits_for_collective(evidence.columns["functions"])
    return "collective, waited for" if waited else way


def _most(evidence: Evidence, kinds: Iterable[str]) -> int:
    """The file with most time in calls of these kinds."""
    files = evidence.files
    return int(np.sum([files[f"{kind}_ns"] for kind in kinds], axis=0).argmax())


def _cause(evidence: Evidence) -> Cause:
    checks = (shared_pointer, waits_for_requests, read_after_seeks)
    found = (cause for check in checks if (cause := check(evidence)) is not None)
    return next(found, None) or _cause_by_kind(evidence)


def _cause_by_kind(evidence: Evidence) -> Cause:
    use = evidence.use
    groups: dict[tuple[str, ...], Callable[[Evidence], Cause]] = {
        ("sync",): _sync,
        ("lock",): _locks,
        METADATA_KINDS: in_names,
        ("read",): lambda evidence: _moving(evidence, "read"),
        ("write",): lambda evidence: _moving(evidence, "write"),
    }
    others = use.calls(*KINDS) - use.calls("lock")
    free = not use.waits_for_locks and others >= FEW_BESIDE_LOCKS * use.calls("lock")
    if free:
        del groups[("lock",)]  # whatever they are for makes their number
    kinds = max(groups, key=lambda kinds: use.time_ns(*kinds))
    cause = groups[kinds](evidence)
    if not free or use.time_ns("lock") <= use.time_ns(*kinds):
        return cause
    locks = calls_of(use, "lock", evidence.columns["functions"])
    part = part_of_io(evidence, use.time_ns("lock"), use.calls("lock"))
    return cause._replace(finding=f"{cause.finding}, and {locks} {part}")


def _sync(evidence: Evidence) -> Cause:
    use, functions = evidence.use, evidence.columns["functions"]
    file = evidence.named_file("sync")
    part = part_of_io(evidence, use.time_ns("sync"), use.calls("sync"))
    text = f"{calls_of(use, 'sync', functions)} {part}"
    facts = f"{count(use.calls('write'), 'write')} of {byte_count(use.bytes('write'))} in all"
    if not use.calls("write"):
        facts = "no call wrote meanwhile: the bytes were stored in mapped files, or written before"
    names = (noun_of("sync", functions, use.calls("sync")),)
    return Cause(Kind.SYNC, text, facts, file, names, _advised_of_sync(evidence))


def _advised_of_sync(evidence: Evidence) -> str:
    """Who synchronises each file once for each time that it is opened need not be told to; nor he
    whose library does so by itself, or whose calls carry so much that the bytes take the time, and
    not the number of calls."""
    files = evidence.files
    rows = np.flatnonzero(np.asarray(files["syncs"]) > 0)
    use = sum_use(files, rows)
    if use.bytes("write") >= LARGE_SYNC_BYTES * use.calls("sync"):
        return "large"
    if by_library := synchronised_by_library(evidence, rows):
        return by_library
    once = np.asarray(files["syncs"]) <= np.asarray(files["opens"])
    if not once.all():
        return ""
    again = 2 * files["syncs"][often_opened(evidence)].sum() > use.calls("sync")
    return "each open" if again else "once"


def _locks(evidence: Evidence) -> Cause:
    use, functions = evidence.use, evidence.columns["functions"]
    part = part_of_io(evidence, use.time_ns("lock"), use.calls("lock"))
    text = f"{calls_of(use, 'lock', functions)} {part}"
    facts = "fcntl, flock and lockf return when the lock is granted"
    file = evidence.named_file("lock")
    if (by := locked_by(evidence, file)) == "atomic":
        return Cause(Kind.LOCKS, text, facts, file, advised=by)
    if file is None or len(evidence.users_of(file, "lock")) > 1:
        return Cause(Kind.LOCKS, text, facts, file)
    name = base_name(evidence.files["path"][file])
    facts = f"{facts}; no other rank locks {name}" if evidence.ranks > 1 else facts
    advised = "held by others" if evidence.ranks > 1 else ""
    return Cause(Kind.LOCKS, text, facts, file, advised=advised)


def _moving(evidence: Evidence, kind: str) -> Cause:
    checks = [failing, _modules, read_at_each_open, flushed_by_library, end_is_asked, jumping]
    checks += [read_again, amplified, written_again, flushes, whole_files, _small_ones]
    found = (cause for check in checks if (cause := check(evidence, kind)) is not None)
    return next(found, None) or slow_file(evidence, kind)


def _modules(evidence: Evidence, kind: str) -> Cause | None:
    """Python reads the modules that it imports."""
    rows = dominant(evidence, kind, are_modules(evidence)) if kind == "read" else None
    if rows is None:
        return None
    use = sum_use(evidence.files, rows)
    part = part_of_io(evidence, use.time_ns(kind))
    text = f"{use.calls(kind):,} reads of Python's modules {part}"
    facts = f"{evidence.described(use, kind)} in {where_of(evidence, rows)}"
    return Cause(Kind.MANY_FILES, text, facts, advised="python")


def jumping(evidence: Evidence, kind: str) -> Cause | None:
    """Small requests at places in no order, or from the end to the begin."""
    files = evidence.files
    noun = KINDS[kind][0]
    on, forward, back = (
        np.asarray(files[f"{noun}_{name}"]) for name in ("consecutive", "forward", "backward")
    )
    calls = on + forward + back
    backward = (2 * back >= calls) & ~_in_one_place(evidence, kind)
    jumps = (back >= JUMPING * calls) & (forward >= JUMPING * calls) & (2 * on < calls)
    many = _is_small(evidence, kind) & (calls > MANY_REQUESTS)
    ways = {"jump back and forth": jumps, "go backward": backward & ~jumps}
    found = {how: dominant(evidence, kind, holds & many) for how, holds in ways.items()}
    how, rows = next(((how, rows) for how, rows in found.items() if rows is not None), ("", None))
    if rows is None:
        return None
    use = sum_use(files, rows)
    mean = byte_count(use.bytes(kind) / use.calls(kind))
    part = percent(use.pattern(kind, "backward") / use.calls(kind))
    where = where_of(evidence, rows)
    text = f"{use.calls(kind):,} {noun} of {mean} on average {how} in {where}"
    facts = f"{part} go back; {evidence.described(use, kind)}"
    ahead = calls_of_functions(evidence.columns["functions"], READ_AHEAD)
    advised = "in memory" if ahead or evidence.opened(rows) == "direct" else ""
    if kind == "write" and evidence.library_in(int(rows[0])) not in ON_MPIIO:
        advised = "writes"
    return Cause(Kind.RANDOM_REQUESTS, text, facts, only_row(rows), advised=advised)


def _in_one_place(evidence: Evidence, kind: str) -> np.ndarray:
    """Files in which some rank comes back to the same bytes again and again, as to a header that is
    written once more: no order of the requests would spare that."""
    table, noun = evidence.file_rank, KINDS[kind][0]
    begins, ends, moved = (
        np.asarray(table[name]) for name in (f"{noun}_begin", f"{noun}_end", moved_column(kind))
    )
    again = (begins >= 0) & (moved > 2 * (ends - begins))  # −1: no offset is known
    found = np.zeros(len(evidence.files["path"]), dtype=bool)
    found[np.asarray(table["file"])[again]] = True
    return found


def _is_small(evidence: Evidence, kind: str) -> np.ndarray:
    """Files of which nine tenths of these requests are small."""
    files = evidence.files
    calls = np.asarray(files[KINDS[kind][0]], dtype=np.int64)
    small = np.asarray(files[f"{KINDS[kind][0]}_small"], dtype=np.int64)
    return (calls > 0) & (small >= MOSTLY_SMALL * calls)


def _small_ones(evidence: Evidence, kind: str) -> Cause | None:
    """Small requests that take so long that they wait for a device or a server; or that are so
    many that their number costs."""
    rows = dominant(evidence, kind, _is_small(evidence, kind))
    if rows is None:
        return None
    rows = _with_most_calls(evidence, kind, _waiting(evidence, kind, rows))
    use = sum_use(evidence.files, rows)
    small_ns, number = (use.pattern(kind, name) for name in ("small_ns", "small"))
    if small_ns < CAUSE_SHARE * use.time_ns(kind):  # a few large ones take as long as all of them
        return None
    if small_ns / number * evidence.ran_in_io >= WAITING_NS:
        text = calls_of(use, kind, evidence.columns["functions"])
        if has_large_ones(evidence.columns["file_sizes"], rows, use, kind):
            text = f"{small_ones_of(use, kind, True)}, {nanoseconds(small_ns // number)} each"
        # most file systems let one rank at a time write to a file
        shared = kind == "write" and any(len(evidence.users_of(row, kind)) > 1 for row in rows)
        whom = "a device, a server or each other" if shared else "a device or a server"
        if of_others_mostly(evidence) and not evidence.opened(rows):  # of them it is not known
            whom = f"{whom.replace(' or', ',')} or a processor"
        text = f"{text}: so small, they wait for {whom}"
        if use.gathered(kind):
            each = nanoseconds(use.each_ns(kind))
            text = f"{gathered_of(use, kind)} and {each} each: they wait for {whom}"
        advised, facts = _advised_of_slow(evidence, rows, kind), _totals(evidence, use, kind)
        facts += _opened_how(evidence, rows, kind)
        return Cause(Kind.SLOW_SMALL_REQUESTS, text, facts, only_row(rows), advised=advised)
    if use.calls(kind) < MANY_REQUESTS:
        return None
    return opened_for_each(evidence, kind) or _small(evidence, kind, rows, use)


def _opened_how(evidence: Evidence, rows: np.ndarray, kind: str) -> str:
    """`; opened with O_DIRECT`, where that makes each request wait: O_SYNC is for writes."""
    how = evidence.opened(rows)
    waits = how == "direct" or (how and kind == "write")
    return f"; opened with {OPENED_WITH[how]}" if waits else ""


def _waiting(evidence: Evidence, kind: str, rows: np.ndarray) -> np.ndarray:
    """Those of the files whose requests wait, where they have nearly all of the time: quick ones of
    other ranks are in no average with them."""
    calls, time_ns = (np.asarray(evidence.files[name]) for name in (KINDS[kind][0], f"{kind}_ns"))
    slow = rows[time_ns[rows] * evidence.ran_in_io >= WAITING_NS * calls[rows]]
    return slow if time_ns[slow].sum() >= ONE_FILE_SHARE * time_ns[rows].sum() > 0 else rows


def _with_most_calls(evidence: Evidence, kind: str, rows: np.ndarray) -> np.ndarray:
    """The one file of these with nearly all of the calls, where it has half of the time, too:
    requests of another size to others are in no average with them."""
    calls, time_ns = (np.asarray(evidence.files[name]) for name in (KINDS[kind][0], f"{kind}_ns"))
    most = rows[calls[rows].argmax()]
    enough = time_ns[most] >= CAUSE_SHARE * time_ns.sum()
    nearly_all = calls[most] >= ONE_FILE_SHARE * calls[rows].sum()
    return np.array([most]) if enough and nearly_all else rows


def _advised_of_slow(evidence: Evidence, rows: np.ndarray, kind: str) -> str:
    """Reads wait for what is not in memory yet, unless the file was opened so that no request is
    served from memory; of MPI-IO there are better ways to say it."""
    if evidence.library_in(int(rows[0])) == "mpiio":
        return ""
    how = evidence.opened(rows)
    if kind == "read" and how != "direct":
        return "reads"
    if not how and evidence.columns["format"] != "tailrace":
        return "not known"  # how files were opened
    return how or ("each call" if _with_flags(evidence, rows, kind) else "")


def _with_flags(evidence: Evidence, rows: np.ndarray, kind: str) -> bool:
    """Whether most of that time is in calls that can be told each for itself to wait, and some on
    these files were."""
    _, time_ns = sums_of(evidence.columns["functions"], WITH_FLAGS)
    return 2 * time_ns > evidence.use.time_ns(kind) and evidence.written_synchronously(rows)


def _totals(evidence: Evidence, use: Use, kind: str) -> str:
    size, time_ns = byte_count(use.bytes(kind)), nanoseconds(use.time_ns(kind))
    return f"{size} in {time_ns}{', summed over ranks' if evidence.ranks > 1 else ''}"


def _small(evidence: Evidence, kind: str, rows: np.ndarray, use: Use) -> Cause:
    if use.pattern(kind, "empty") >= MOSTLY_EMPTY * use.calls(kind):
        return _of_nothing(evidence, kind, rows, use)
    mixed = has_large_ones(evidence.columns["file_sizes"], rows, use, kind)
    text = small_ones_of(use, kind, mixed)
    time_ns = use.pattern(kind, "small_ns") if mixed else use.time_ns(kind)
    if use.gathered(kind):
        text, time_ns = gathered_of(use, kind), use.time_ns(kind)
    where = _interleaved(evidence, rows, kind)
    text += f"{where} {part_of_io(evidence, time_ns)}"
    facts = f"{evidence.described(use, kind)} in {where_of(evidence, rows)}"
    facts += _opened_how(evidence, rows, kind)
    file = only_row(rows)
    merged = "interleaved" in where and evidence.library_in(file) == "posix"
    advised = "interleaved" if merged else ""
    # of a file that is written through STDIO, and gathered by no stream's buffer
    prints = calls_of_functions(evidence.columns["functions"], DESCRIPTOR_PRINTS)
    libraries = {evidence.library_in(int(row)) for row in rows}
    of_stdio = libraries == {"stdio"} and not use.gathered(kind)
    if kind == "write" and of_stdio and 2 * prints > use.calls(kind):
        advised = "descriptor prints"
    return Cause(Kind.SMALL_REQUESTS, text, facts, file, advised=advised)


def _of_nothing(evidence: Evidence, kind: str, rows: np.ndarray, use: Use) -> Cause:
    """Nearly all of them move not a byte: there is nothing to gather."""
    what = {"read": "reads that find nothing", "write": "writes of nothing"}[kind]
    empty = use.pattern(kind, "empty")
    text = f"{empty:,} {what} {part_of_io(evidence, use.time_ns(kind))}"
    facts = f"{evidence.described(use, kind)} in {where_of(evidence, rows)}"
    file = only_row(rows)
    return Cause(Kind.SMALL_REQUESTS, text, facts, file, advised=f"nothing to {kind}")


def _interleaved(evidence: Evidence, rows: np.ndarray, kind: str) -> str:
    """Of one file: whether ranks' requests lie between each other's, which skip forward over the
    same stretch and fit into it; or skip forward at all, which leaves gaps."""
    table, noun = evidence.file_rank, KINDS[kind][0]
    ranks = evidence.rows_of_file(range(len(table["rank"])), only_row(rows))
    ranks = [row for row in ranks if table[noun][row]]
    if only_row(rows) is None or not ranks:
        return ""
    calls, forward, moved = (
        sum(int(table[name][row]) for row in ranks)
        for name in (noun, f"{noun}_forward", moved_column(kind))
    )
    begins, ends = (
        [int(table[f"{noun}_{edge}"][row]) for row in ranks] for edge in ("begin", "end")
    )
    if 2 * forward < calls:
        return ""
    apart = len(set(begins)) == len(begins) > 1 and max(begins) < min(ends)
    if apart and moved <= max(ends) - min(begins):
        return f", interleaved by {len(ranks)} ranks in {where_of(evidence, rows)},"
    # who goes back begins to pass over the stretch once more
    passes = (1 + int(table[f"{noun}_backward"][row]) for row in ranks)
    lengths = (end - begin for begin, end in zip(begins, ends, strict=True))
    step = sum(length * times for length, times in zip(lengths, passes, strict=True)) / calls
    return f", one every {byte_count(step)} of {where_of(evidence, rows)},"
