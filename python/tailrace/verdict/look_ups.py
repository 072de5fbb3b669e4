"""Look-ups of files' names, and opens in vain, where they take long: what they are made for, and
what would spare them."""

import numpy as np

from tailrace.units import count, nanoseconds
from tailrace.verdict.by_path import made_by_mpiio
from tailrace.verdict.cause import CAUSE_SHARE, Cause, part_of_io, where_of
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import METADATA_KINDS, OTHERS, calls_of, sum_use, sums_of

MANY_FILES = 100
# A name that is looked up no more often than this is not waited for.
FEW_LOOK_UPS = 3
# One that is looked up so often is.
MANY_POLLS = 50
# More look-ups than that before an open, or a write, are not made for it.
LOOKS_OF_A_USE = 6
# No program waits for so many names at once: many processes look for the same ones.
MANY_POLLED = 20
# Where no more opens than this share are followed by a close or another call, the others failed.
CLOSED = 0.1
# Each of them is made of what was opened, or is there: others are listings, mappings, removals.
_SIGNS_OF_AN_OPEN = ("closes", "reads", "writes", "syncs", "locks", "truncates", "others")
MAPPINGS = frozenset({"mmap", "mmap64"})


def look_ups(evidence: Evidence, facts: str) -> Cause:
    use, functions = evidence.use, evidence.columns["functions"]
    maker = made_by_mpiio(evidence, "look_up")
    told = maker.use("look_up") if maker else use
    part = part_of_io(evidence, told.time_ns("look_up"), told.calls("look_up"))
    by = f", made by {maker.function}," if maker else ""
    text = f"{calls_of(told, 'look_up', functions)}{by} {part}"
    own = np.asarray(evidence.files["look_ups"])[np.asarray(evidence.files["ranks"]) == 1].sum()
    advised = "mpiio" if maker else "one rank" if 2 * own > use.calls("look_up") else ""
    if not maker and _are_used(evidence):
        advised = "used"
    elif not maker and _are_of_many_names(evidence):
        advised = "each name"
    return Cause(Kind.LOOK_UPS, text, facts, evidence.named_file("look_up"), advised=advised)


def opens_in_vain(evidence: Evidence, rows: np.ndarray, facts: str) -> Cause | None:
    """Opens that fail, if those of such files among `rows` take long: of what is not there; or not
    yet, or is there still, as a lock file (O_EXCL) that another holds. Whether each of them failed,
    and why, is not recorded: who opens files to map them, or to list or remove a directory, seldom
    closes them by a call that is."""
    files = evidence.files
    opens = np.asarray(files["opens"])[rows]
    opened = np.maximum.reduce([np.asarray(files[name])[rows] for name in _SIGNS_OF_AN_OPEN])
    failed = opened < CLOSED * opens
    use = sum_use(files, rows[failed])
    enough = CAUSE_SHARE * max(evidence.use.time_ns(*METADATA_KINDS), 1)
    searching, most = use.time_ns("open", "look_up"), max(METADATA_KINDS, key=use.time_ns)
    if searching < enough or most != "open":
        return _removed(evidence, rows, facts) or _mapped(evidence, rows, facts)
    awaited = failed & (opened > 0) & (opens - opened >= MANY_POLLS)
    of_awaited = sum_use(files, rows[awaited])
    how, advised = "hardly any of them closed again", "absent"
    if 2 * of_awaited.time_ns("open") > use.time_ns("open"):
        failed, use, how, advised = awaited, of_awaited, "nearly all of them in vain", "awaited"
    tried = rows[failed]
    names = where_of(evidence, tried) if len(tried) == 1 else count(len(tried), "name")
    text = f"{use.calls('open'):,} opens of {names}, {how}"
    return Cause(
        Kind.LOOK_UPS,
        f"{text}, {part_of_io(evidence, use.time_ns('open'))}",
        f"{facts}; an open that nothing follows is taken to have failed",
        advised=advised,
    )


def _removed(evidence: Evidence, rows: np.ndarray, facts: str) -> Cause | None:
    """What is opened only to be removed, as directories are that are removed with all that is in
    them: where most of the time is in removals, these are named."""
    use, functions = sum_use(evidence.files, rows), evidence.columns["functions"]
    calls, time_ns = sums_of(functions, OTHERS["removal"])
    whole = evidence.use.time_ns(*METADATA_KINDS)
    if min(time_ns, use.time_ns("other")) < CAUSE_SHARE * max(whole, 1):
        return None
    each = f"{count(calls, 'removal')} of {nanoseconds(time_ns // calls)}"
    text = f"{each}{' each' if calls > 1 else ''} {part_of_io(evidence, time_ns, calls)}"
    return Cause(Kind.METADATA, text, facts, advised="other")


def _mapped(evidence: Evidence, rows: np.ndarray, facts: str) -> Cause | None:
    """Many files that are opened to be mapped into memory, and never closed or all at once: bytes
    are read there by no call."""
    files, functions = evidence.files, evidence.columns["functions"]
    moved = np.asarray(files["bytes_read"]) + np.asarray(files["bytes_written"])
    rows = rows[(moved[rows] == 0) & (np.asarray(files["others"])[rows] > 0)]
    use = sum_use(files, rows)
    mappings, _ = sums_of(functions, MAPPINGS)
    spent = use.time_ns(*METADATA_KINDS)
    enough = CAUSE_SHARE * max(evidence.use.time_ns(*METADATA_KINDS), 1)
    if len(rows) < MANY_FILES or mappings < CAUSE_SHARE * use.calls("other") or spent < enough:
        return None
    text = f"{len(rows):,} files that are mapped into memory: their opens, mappings and the like"
    return Cause(Kind.METADATA, f"{text} {part_of_io(evidence, spent)}", facts)


def are_of_each_file(evidence: Evidence) -> bool:
    """Whether most look-ups are a few of each of many files, which is opened once by each rank, and
    read or written: they belong to it, as tar asks three times about each, and to look less often
    spares none of them."""
    files = evidence.files
    times, opens = np.asarray(files["look_ups"]), np.asarray(files["opens"])
    moved = np.asarray(files["bytes_read"]) + np.asarray(files["bytes_written"])
    each = (moved > 0) & (opens > 0) & (opens <= np.asarray(files["ranks"]))
    each &= times <= LOOKS_OF_A_USE * opens
    enough = np.count_nonzero(each & (times > 0)) >= MANY_FILES
    return bool(enough and 2 * int(times[each].sum()) > int(times.sum()))


def _are_of_many_names(evidence: Evidence) -> bool:
    """Whether there are many names, each of which is looked up a few times; by processes that one
    program starts, as a compiler, by each."""
    times = np.asarray(evidence.files["look_ups"])
    names, whole = np.count_nonzero(times), times.sum()
    seldom = 2 * times[times >= MANY_POLLS].sum() < whole or _most_of(times) > MANY_POLLED
    seldom &= evidence.ranks == 1
    return bool(names >= MANY_FILES and (seldom or whole <= FEW_LOOK_UPS * names))


def _are_used(evidence: Evidence) -> bool:
    """Whether most look-ups are of files that are also opened or written to, once for every few
    look-ups: nobody waits for these, and the use itself would tell. One for each open is that of a
    library, as Python's."""
    files = evidence.files
    times = np.asarray(files["look_ups"])
    uses = np.asarray(files["opens"]) + np.asarray(files["writes"])
    used = (2 * times >= 3 * uses) & (times <= LOOKS_OF_A_USE * uses)
    return 2 * int(times[used].sum()) > int(times.sum())


def _most_of(numbers: np.ndarray) -> int:
    """How few of them have half of the sum."""
    largest_first = np.sort(numbers)[::-1]
    return int(np.searchsorted(np.cumsum(largest_first), numbers.sum() / 2)) + 1
