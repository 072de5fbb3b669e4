"""Why calls on files' names take long: opening, closing, looking up, renaming, cutting to length;
and where there are as many names as requests, so that these are small for want of bytes.
The table in why.py says when which sentence is said."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tailrace.names import base_name
from tailrace.units import byte_count, count, nanoseconds, percent
from tailrace.verdict.by_path import made_by_mpiio, through_library
from tailrace.verdict.cause import (
    CAUSE_SHARE,
    ONE_FILE_SHARE,
    Cause,
    only_row,
    part_of_io,
    where_of,
)
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.look_ups import (
    MANY_FILES,
    MANY_POLLED,
    are_of_each_file,
    look_ups,
    opens_in_vain,
)
from tailrace.verdict.modules import are_modules, imports, is_python
from tailrace.verdict.off_path import moved_by_processes
from tailrace.verdict.places import Places
from tailrace.verdict.requests import (
    KINDS,
    LENGTHS,
    METADATA_KINDS,
    MOVING_KINDS,
    OF_DIRECTORIES,
    OTHERS,
    REOPENED,
    Use,
    are_reopened,
    calls_of,
    calls_of_functions,
    sum_use,
    sums_of,
)
from tailrace.verdict.zarr import are_of_zarr, metadata_again, metadata_of

# A second kind of call is named where it has so much of the time.
WORTH_NAMING = 0.1
# With so few requests each time, opens are not paid for.
FEW_REQUESTS = 4
# Of what all writes of a whole file would be, one part in so many.
ANEW = 3
# By a library that looks at it first, for each time that it writes it anew.
OPENS_OF_A_TIME = 6
# A file that is written to so seldom is opened to be read.
SELDOM_WRITTEN = 0.1
# Libraries that keep tables in a file of where its data lie; they read so much of them at most.
WITH_TABLES = ("hdf5", "netcdf")
TABLES_BYTES = 64 * 1024
# An open that takes so long does more than to find a name.
SLOW_OPEN_NS = 1_000_000
# Of descriptors: a stream of C knows where it is.
SEEKS = ("lseek", "lseek64")
# With more, hardly one is for a request: the position is asked for.
SEEKS_OF_A_REQUEST = 4
# A seek that takes so long asks the file system: for the end, for data or for holes.
ASKING_SEEK_NS = 5_000
SMALL_FILE_BYTES = 1_000_000
# Not at an open or a close, but again and again in between.
OFTEN_CUT = 10
# A library that opens a file and closes it may set its size at both.
CUTS_OF_AN_OPEN = 2
CHANGES_OF_NAMES = OTHERS["rename"] | OTHERS["removal"] | OTHERS["mkdir"] | OTHERS["link"]
# As capture names what tmpfile makes, and the kernel what is opened with O_TMPFILE.
_NAMELESS = re.compile(rb"^<temporary file>$|/#\d+$")
# Of Open MPI's shared file pointers, which each rank tries at each MPI_File_open.
_LOCK_TEST = re.compile(rb"\.locktest\.\d+$")


def in_names(evidence: Evidence) -> Cause:
    use = evidence.use
    if (cause := _asynchronous(evidence) or imports(evidence)) is not None:
        return cause
    facts = _facts(evidence, use)
    if use.time_ns("look_up") >= CAUSE_SHARE * use.time_ns(*METADATA_KINDS):
        of_each = _many_files(evidence) if are_of_each_file(evidence) else None
        return of_each or look_ups(evidence, facts)
    for cause in (
        _temporary(evidence, METADATA_KINDS, facts, "their opens, closes and the like take"),
        _reopened(evidence, facts),
        _many_files(evidence),
    ):
        if cause is not None:
            return cause
    return _slow_names(evidence, _slowest(use))


def _slowest(use: Use) -> list[str]:
    """The kind of calls with most time, and another one that has a notable part of it."""
    first, other, *_ = sorted(METADATA_KINDS, key=lambda kind: -use.time_ns(kind))
    return [first] + [other] * (use.time_ns(other) >= WORTH_NAMING * use.time_ns(*METADATA_KINDS))


def _facts(evidence: Evidence, use: Use) -> str:
    functions = evidence.columns["functions"]
    return " and ".join(calls_of(use, kind, functions) for kind in _slowest(use))


def _slow_names(evidence: Evidence, kinds: Sequence[str]) -> Cause:
    """Calls of these kinds; of one file, where it has most of the time and no other half as much as
    it."""
    files, functions = evidence.files, evidence.columns["functions"]
    times = np.sum([np.asarray(files[f"{kind}_ns"]) for kind in kinds], axis=0)
    file = int(times.argmax())
    alone = (2 * times > times[file]).sum() == 1 and times[file] >= CAUSE_SHARE * times.sum()
    single = alone and "other" not in kinds
    use = sum_use(files, [file]) if single else evidence.use
    facts = " and ".join(calls_of(use, kind, functions) for kind in kinds if use.calls(kind))
    maker = made_by_mpiio(evidence, kinds[0]) if len(kinds) == 1 else None
    told = maker.use(kinds[0], [file] if single else None) if maker else use
    what = calls_of(told, kinds[0], functions) if maker else facts
    by = f", made by {maker.function}," if maker else ""
    where = f" ({base_name(files['path'][file])})" if single else ""
    part = part_of_io(evidence, told.time_ns(*kinds), told.calls(*kinds))
    text = f"{what}{where}{by} {part}"
    advised = _advised_of_names(use, functions, kinds)
    if advised in ("cut", "opened anew") and _are_of_fortran(evidence):
        advised = "cut by fortran"
    if by and advised not in ("", "cut", "allocated", "opened anew", "slow close"):
        advised = "mpiio"
    return Cause(Kind.METADATA, text, facts, file if single else None, advised=advised)


def _are_of_fortran(evidence: Evidence) -> bool:
    """Whether GNU's library of Fortran cuts files that are written to by records: by most of the
    truncations, far more than files are opened."""
    places = Places(evidence.columns)
    if not len(places.files) or evidence.use.calls("truncate") <= OFTEN_CUT * evidence.use.calls(
        "open"
    ):
        return False
    spent = np.where(places.files >= 0, places.time_ns(("truncate",)), 0)
    return 2 * int(spent[through_library(places, "libgfortran")].sum()) > int(spent.sum())


def _advised_of_names(use: Use, functions: dict[str, Any], kinds: Sequence[str]) -> str:
    """Opening less often spares no renames, removals, links and directories, and no seeks."""
    enough_ns = max(CAUSE_SHARE * use.time_ns("other"), 1)
    groups = {"listing": OTHERS["listing"], "other": CHANGES_OF_NAMES, "seeks": OTHERS["seek"]}
    groups["hints"] = OTHERS["fadvise"]
    spent = {advised: sums_of(functions, names)[1] for advised, names in groups.items()}
    if kinds[0] == "other" and spent["listing"] >= enough_ns:
        return "listing"
    changes = "other" in kinds and spent["other"] >= enough_ns
    if changes and not _few_beside(use, functions, kinds[0]):
        return slow_changes(use, functions, enough_ns) or "other"
    if kinds[0] == "other":
        if spent["hints"] >= enough_ns:
            return "hints"
        return "neither" if spent["seeks"] < enough_ns else _of_seeks(use, functions, enough_ns)
    if slow := _slow_call(use, kinds[0]):
        return slow
    if kinds[0] != "truncate":
        return ""
    if use.calls("truncate") <= CUTS_OF_AN_OPEN * use.calls("open") and use.calls("open") > 1:
        return "opened anew"
    made = {word: calls_of_functions(functions, names) for word, names in LENGTHS.items()}
    most = max(made, key=lambda word: made[word])
    allocated = made["allocation"] + made["fallocate"] >= CAUSE_SHARE * use.calls("truncate")
    return "cut" if not allocated else "allocated" if most == "allocation" else "fallocate"


def _few_beside(use: Use, functions: dict[str, Any], kind: str) -> bool:
    """Whether so few names are changed beside calls of that kind that these are for something else:
    some directories that are made for many files, and no file that is opened to be removed."""
    changed = calls_of_functions(functions, CHANGES_OF_NAMES)
    return kind != "other" and changed < CAUSE_SHARE * use.calls(kind)


def made_unevenly(evidence: Evidence, kind: str) -> str:
    """What is advised to a rank that makes more of these: opens and the like cannot be merged as
    requests can, nor are they all the program's."""
    named = "mpiio" if made_by_mpiio(evidence, kind) else "names"
    return "" if kind in MOVING_KINDS else named


def _of_seeks(use: Use, functions: dict[str, Any], enough_ns: float) -> str:
    if _seeks_ask(functions, enough_ns):
        return "seeks that ask"
    if calls_of_functions(functions, SEEKS) > SEEKS_OF_A_REQUEST * use.calls(*MOVING_KINDS):
        return "positions"
    only_written = use.bytes("write") and not use.bytes("read")
    return "seeks to write" if only_written else "seeks"


def slow_changes(use: Use, functions: dict[str, Any], enough_ns: float) -> str:
    """What is advised where changes of names take longer than to change a name: files of many bytes
    that replace others, or that are removed; few of these may have been written before the run."""
    calls, time_ns = sums_of(functions, OTHERS["rename"])
    slow = time_ns >= max(enough_ns, SLOW_OPEN_NS * calls)
    if slow and use.bytes("write") >= SMALL_FILE_BYTES * calls:
        return "slow rename"
    calls, time_ns = sums_of(functions, OTHERS["removal"] - OF_DIRECTORIES)
    large = calls < REOPENED or use.bytes("write") >= SMALL_FILE_BYTES * calls
    return "slow removal" if large and time_ns >= max(enough_ns, SLOW_OPEN_NS * calls) else ""


def _slow_call(use: Use, kind: str) -> str:
    """An open or a close that takes so long that it does more than its name says."""
    if kind not in ("open", "close") or use.each_ns(kind) < SLOW_OPEN_NS:
        return ""
    few = use.calls("open") < REOPENED
    if not few and use.bytes("write") < SMALL_FILE_BYTES * use.calls("open"):
        return ""
    if kind == "close":
        return "slow close" if use.bytes("write") else ""
    return "slow open" if use.calls("write") else "slow look-up"  # nothing was emptied


def _seeks_ask(functions: dict[str, Any], enough_ns: float) -> bool:
    """Whether seeks of descriptors are what takes the time, and more than to set a number."""
    calls, time_ns = sums_of(functions, SEEKS)
    return time_ns >= max(enough_ns, ASKING_SEEK_NS * calls)


def _asynchronous(evidence: Evidence) -> Cause | None:
    """Waiting for requests of aio_write and its like: they are what takes the time."""
    use, functions = evidence.use, evidence.columns["functions"]
    waits, time_ns = sums_of(functions, OTHERS["asynchronous wait"])
    if not waits or time_ns < CAUSE_SHARE * use.time_ns(*METADATA_KINDS):
        return None
    kind = max(MOVING_KINDS, key=use.bytes)
    size = byte_count(use.bytes(kind) / max(use.calls(kind), 1))
    requests = count(use.calls(kind), f"asynchronous {kind}")
    name, verb = where_of(evidence, used := used_rows(evidence)), "take" if waits > 1 else "takes"
    part = percent(min(time_ns / evidence.io_time_ns, 1.0))
    text = f"{count(waits, 'wait')} for {requests} of {name} {verb} {part} of the I/O time"
    facts = f"{requests} of {size} on average; each wait takes {nanoseconds(time_ns // waits)}"
    return Cause(Kind.METADATA, text, facts, only_row(used), advised="asynchronous")


def used_rows(evidence: Evidence) -> np.ndarray:
    """Rows of "files" that bytes were moved to or from."""
    files = evidence.files
    return np.flatnonzero(np.asarray(files["bytes_read"]) + np.asarray(files["bytes_written"]))


def _reopened(evidence: Evidence, facts: str) -> Cause | None:
    rows = np.union1d(often_opened(evidence), opened_for_tables(evidence))
    use = sum_use(evidence.files, rows)
    enough_ns = CAUSE_SHARE * evidence.use.time_ns(*METADATA_KINDS)
    _, listing_ns = sums_of(evidence.columns["functions"], OTHERS["listing"])
    if use.time_ns(*METADATA_KINDS) < enough_ns or listing_ns >= enough_ns:
        return None
    if len(rows) > MANY_POLLED and moved_by_processes(evidence):
        return None  # each of them opens these: compilers their headers
    return opens_in_vain(evidence, rows, facts) or _opened_again(evidence, rows, facts)


def opened_for_each(evidence: Evidence, kind: str) -> Cause | None:
    """Small requests that no buffer can gather, since the file is closed after each few: they take
    longer than the opens, but are so many and so small because of these."""
    verb = {"read": "reading", "write": "writing"}[kind]
    described = evidence.described(evidence.use, kind)
    if (cause := _temporary(evidence, (kind,), described, f"{verb} them takes")) is not None:
        return cause
    rows = often_opened(evidence)
    use = sum_use(evidence.files, rows)
    if use.time_ns(kind) < max(CAUSE_SHARE * evidence.use.time_ns(kind), 1):
        return None
    kinds = (each for each in (kind, "open", "close") if use.calls(each))
    facts = " and ".join(calls_of(use, each, evidence.columns["functions"]) for each in kinds)
    return _opened_again(evidence, rows, facts)


def read_at_each_open(evidence: Evidence, kind: str) -> Cause | None:
    """A library reads a file's tables each time that it opens it, by many small requests: where
    little else is read or written, they take longer than the opens."""
    rows = opened_for_tables(evidence)
    use = sum_use(evidence.files, rows)
    if kind != "read" or use.time_ns("read") < max(CAUSE_SHARE * evidence.use.time_ns("read"), 1):
        return None
    facts = " and ".join(
        calls_of(use, each, evidence.columns["functions"]) for each in ("read", "open")
    )
    return _opened_again(evidence, rows, facts)


def opened_for_tables(evidence: Evidence) -> np.ndarray:
    """Rows of files that a library with tables opens again and again, for little else."""
    files = evidence.files
    opens, moved = np.asarray(files["opens"]), np.asarray(files["bytes_read"])
    often = are_reopened(files) & (moved < TABLES_BYTES * opens)
    often &= np.asarray(files["bytes_written"]) < TABLES_BYTES * opens
    tables = [evidence.library_in(row) in WITH_TABLES for row in range(len(often))]
    return np.flatnonzero(often & np.asarray(tables, dtype=bool))


def _are_nameless(evidence: Evidence) -> np.ndarray:
    """For each row of "files" whether it stands for any number of files: those of tmpfile have one
    name here, and of O_TMPFILE the kernel gives a number that was freed to the next."""
    paths = evidence.files["path"]
    return np.asarray([bool(_NAMELESS.search(bytes(path))) for path in paths], dtype=bool)


def _temporary(evidence: Evidence, kinds: Sequence[str], facts: str, what: str) -> Cause | None:
    """Files without a name, each of them opened once, where these have most of the time."""
    files = evidence.files
    use = sum_use(files, np.flatnonzero(_are_nameless(evidence)))
    opens, size = use.calls("open"), max(map(use.bytes, MOVING_KINDS))
    few = opens < MANY_FILES or size >= SMALL_FILE_BYTES * opens
    if few or use.time_ns(*kinds) < max(CAUSE_SHARE * evidence.use.time_ns(*kinds), 1):
        return None
    part = percent(use.time_ns(*kinds) / evidence.io_time_ns)
    text = f"{opens:,} temporary files of {byte_count(size / opens)} on average: {what} {part}"
    return Cause(Kind.MANY_FILES, f"{text} of the I/O time", facts, advised="temporary")


def often_opened(evidence: Evidence) -> np.ndarray:
    """Files that each rank opens again and again for a few requests each time. Not where files are
    renamed or removed about as often, nor where much is written each time: who replaces a file has
    to open it."""
    files = evidence.files
    opens = np.asarray(files["opens"])
    requests = np.asarray(files["reads"]) + np.asarray(files["writes"])
    replaced = calls_of_functions(
        evidence.columns["functions"], OTHERS["rename"] | OTHERS["removal"]
    )
    kept = (np.asarray(files["others"]) < CAUSE_SHARE * opens) | (
        replaced < CAUSE_SHARE * opens.sum()
    )
    few = requests <= FEW_REQUESTS * opens
    few &= np.asarray(files["bytes_written"]) < SMALL_FILE_BYTES * opens
    often = are_reopened(files) & ~_are_nameless(evidence)
    return np.flatnonzero(often & few & kept)


def _opened_again(evidence: Evidence, rows: np.ndarray, facts: str) -> Cause:
    use = sum_use(evidence.files, rows)
    name, verb = where_of(evidence, rows), "is" if len(rows) == 1 else "are"
    each = use.calls(*MOVING_KINDS) / use.calls("open")
    text = f"{name} {verb} opened {use.calls('open'):,} times, for {each:.1f} requests each time"
    if times := _written_anew(evidence, rows):
        text = f"{name} {verb} opened and written anew {times:,} times"
        if times < use.calls("open"):
            opens = f"{use.calls('open'):,} times"
            text = f"{name} {verb} written anew {times:,} times, and opened {opens} for that"
        return Cause(Kind.REOPENED, text, facts, only_row(rows), advised="anew")
    if _are_of_dumb(evidence, rows):
        return Cause(Kind.REOPENED, text, facts, only_row(rows), advised="dumb")
    # it may have been made before it was read
    advised = "" if use.calls("write") >= SELDOM_WRITTEN * use.calls("open") else "read"
    if not advised and np.all(np.asarray(evidence.files["writes_begin"])[rows] < 0):
        advised = "or anew"  # where a stream's writes lie is not known
    return Cause(Kind.REOPENED, text, facts, only_row(rows), advised=advised)


def _are_of_dumb(evidence: Evidence, rows: np.ndarray) -> bool:
    """Python's dbm.dumb, which shelve takes where nothing better is installed, keeps data in
    NAME.dat and where they lie in NAME.dir, and opens both again for each key."""
    paths = {bytes(path) for path in evidence.files["path"]}
    names = [bytes(evidence.files["path"][row]) for row in rows]
    both = (name[:-4] + end in paths for name in names for end in (b".dat", b".dir"))
    ends = all(name.endswith((b".dat", b".dir")) for name in names)
    return ends and all(both) and is_python(evidence)


def _written_anew(evidence: Evidence, rows: np.ndarray) -> int:
    """How often all of these files is written over what was there before, where that is so most
    times that they are opened; else 0. What is kept open would have to be cut each time. HDF5 opens
    a file several times before it makes it anew."""
    files = evidence.files
    begins, ends = (np.asarray(files[f"writes_{edge}"])[rows] for edge in ("begin", "end"))
    written, opens = (np.asarray(files[name])[rows] for name in ("bytes_written", "opens"))
    tables = [evidence.library_in(int(row)) in WITH_TABLES for row in rows]
    passes = np.rint(written / np.maximum(ends, 1)).astype(int)
    times = np.where(tables, np.minimum(opens, passes), opens)
    # a file that becomes longer is half as long on average
    anew = (begins == 0) & (ANEW * written >= ends * times) & (OPENS_OF_A_TIME * times >= opens)
    return int(times.sum()) if 2 * int(opens[anew].sum()) > int(opens.sum()) else 0


def whole_files(evidence: Evidence, kind: str) -> Cause | None:
    """Small files that are read or written by a request or two each: fewer requests there cannot
    be. All at once of one file would be. A large one beside them, which has the time, is not."""
    files, noun = evidence.files, KINDS[kind][0]
    calls, opens = np.asarray(files[noun]), np.asarray(files["opens"])
    few = (calls > 0) & (opens > 0) & (calls < FEW_REQUESTS * opens)
    small = (_sizes(files) < SMALL_FILE_BYTES) & ~are_modules(evidence)
    rows = np.flatnonzero(few & small)
    use = sum_use(files, rows)
    if len(rows) < MANY_FILES or use.time_ns(kind) < CAUSE_SHARE * evidence.use.time_ns(kind):
        return None
    mean = byte_count(use.bytes(kind) / len(rows))
    verb = {"read": "reading", "write": "writing"}[kind]
    part = percent(use.time_ns(kind) / evidence.io_time_ns)
    text = f"{len(rows):,} files of {mean} on average: {verb} them takes {part} of the I/O time"
    advised = "one rank" if evidence.ranks == 1 else ""
    return Cause(Kind.MANY_FILES, text, evidence.described(use, kind), advised=advised)


def _sizes(files: dict[str, Any]) -> np.ndarray:
    """What is written and read again, as headers by each compiler, is in the file once."""
    moved = np.maximum(files["bytes_read"], files["bytes_written"])
    reach = [np.asarray(files[f"{way}_end"]) - files[f"{way}_begin"] for way in ("reads", "writes")]
    span = np.maximum(*reach)
    return np.where(span > 0, np.minimum(moved, span), moved)


def _many_files(evidence: Evidence) -> Cause | None:
    """Less than 1 MB each: a large one beside them, as an archive that they come from, is not."""
    files = evidence.files
    sizes = _sizes(files)
    opened = (np.asarray(files["opens"]) > 0) & ~are_modules(evidence)
    rows = np.flatnonzero(opened & (sizes < SMALL_FILE_BYTES))
    once = np.isin(rows, list(evidence.once(map(int, rows))))
    if once.sum() < MANY_FILES:
        return None
    times = np.sum([np.asarray(files[f"{kind}_ns"]) for kind in METADATA_KINDS], axis=0)
    whole = CAUSE_SHARE * times.sum()
    if times[rows].sum() < whole or times[rows].max() >= whole:  # others have it, or one of them
        return None
    of_zarr = are_of_zarr(evidence, rows)
    if of_zarr and (cause := metadata_again(evidence, rows)) is not None:
        return cause
    chunks = ~np.isin(rows, list(metadata_of(evidence, rows)))
    if of_zarr and once[chunks].any():
        rows, once = rows[chunks], once[chunks]
    use, moved = sum_use(files, rows), int(sizes[rows[once]].sum())
    # Beside empty ones, which locks are, or those with bytes, whichever take longer.
    with_bytes = sizes[rows] > 0
    empty = 2 * times[rows[with_bytes]].sum() < times[rows].sum()
    listings = calls_of_functions(evidence.columns["functions"], OTHERS["listing"])
    if empty and 2 * listings >= use.calls("open"):
        return None  # directories
    if empty and (cause := opens_in_vain(evidence, rows, _facts(evidence, use))) is not None:
        return cause
    is_told = with_bytes != empty
    if empty and (cause := _lock_tests(evidence, rows[is_told], times)) is not None:
        return cause
    number, use = int(np.count_nonzero(once & is_told)), sum_use(files, rows[is_told])
    part = part_of_io(evidence, use.time_ns(*METADATA_KINDS))
    mean = byte_count(moved / max(number, 1))
    what = "files that are neither read nor written" if empty else f"files of {mean} on average"
    text = f"{number:,} {what}: their opens, closes and the like {part}"
    advised = "one rank" if evidence.ranks == 1 else ""
    # Of those with bytes, which are removed again; a lock beside each is not what is meant.
    changes = int(np.asarray(files["others"])[rows[sizes[rows] > 0]].sum())
    removals = calls_of_functions(evidence.columns["functions"], OTHERS["removal"])
    if not empty and min(changes, removals) >= ONE_FILE_SHARE * number:
        advised = "temporary"
    elif of_zarr:
        advised = "zarr"
    return Cause(Kind.MANY_FILES, text, _facts(evidence, use), advised=advised)


def _lock_tests(evidence: Evidence, empty: np.ndarray, times: np.ndarray) -> Cause | None:
    """Where Open MPI's have most of the time of empty files."""
    paths = evidence.files["path"]
    rows = [row for row in map(int, empty) if _LOCK_TEST.search(bytes(paths[row]))]
    if 2 * times[rows].sum() <= times[empty].sum():
        return None
    use = sum_use(evidence.files, rows)
    text = f"{len(rows):,} files by which Open MPI tries whether it can lock files: their opens, "
    text += f"closes and the like {part_of_io(evidence, use.time_ns(*METADATA_KINDS))}"
    return Cause(Kind.MANY_FILES, text, _facts(evidence, use), advised="lock tests")
