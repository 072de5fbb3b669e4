"""What was done to files: calls, bytes and time by kind of call, summed over files, ranks or both,
and the words for them."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from tailrace.units import NANOSECONDS_PER_SECOND, byte_count, count, nanoseconds, rate

# Kinds of calls: the column of their number, and the noun for one of them.
KINDS = {
    "read": ("reads", "read"),
    "write": ("writes", "write"),
    "open": ("opens", "open"),
    "close": ("closes", "close"),
    "look_up": ("look_ups", "look-up"),
    "sync": ("syncs", "synchronisation"),
    "lock": ("locks", "lock call"),
    "truncate": ("truncates", "truncation"),
    "other": ("others", "other call"),
}
# What one rank does by them, and what several do.
VERBS = {
    "read": ("reads", "read"),
    "write": ("writes", "write"),
    "open": ("opens", "open"),
    "close": ("closes", "close"),
    "look_up": ("looks up", "look up"),
    "sync": ("synchronises", "synchronise"),
    "lock": ("locks", "lock"),
    "truncate": ("truncates", "truncate"),
    "other": ("renames, removes or positions", "rename, remove or position"),
}
# The same of those calls that are named after what they are, by OTHERS.
VERBS_OF_OTHERS = {
    "rename": ("renames", "rename"),
    "removal": ("removes", "remove"),
    "mkdir": ("makes", "make"),
    "link": ("links", "link"),
    "listing": ("lists", "list"),
    "chmod": ("changes the mode of", "change the mode of"),
    "fadvise": ("advises the system about", "advise the system about"),
    "seek": ("positions in", "position in"),
    "asynchronous wait": (
        "waits for asynchronous requests of",
        "wait for asynchronous requests of",
    ),
}
# What belongs to the names of files and not to their data.
METADATA_KINDS = ("open", "close", "look_up", "truncate", "other")
MOVING_KINDS = ("read", "write")

# What a call that neither moves data nor opens, looks up and so on is named after.
OTHERS = {
    "rename": frozenset({"rename", "renameat", "renameat2"}),
    "removal": frozenset({"unlink", "unlinkat", "remove", "rmdir"}),
    "mkdir": frozenset({"mkdir", "mkdirat"}),
    "link": frozenset({"link", "linkat", "symlink", "symlinkat"}),
    "readlink": frozenset({"readlink", "readlinkat"}),
    "listing": frozenset(
        {
            "opendir",
            "readdir",
            "readdir64",
            "getdents64",
            "scandir",
            "scandir64",
            "glob",
            "glob64",
            "fts_read",
            "fts64_read",
            "fts_children",
            "fts64_children",
        }
    ),
    "chmod": frozenset({"chmod", "fchmod", "fchmodat"}),
    "fadvise": frozenset({"posix_fadvise", "posix_fadvise64"}),
    "ftell": frozenset({"ftell", "ftello", "ftello64", "fgetpos", "fgetpos64"}),
    "asynchronous wait": frozenset({"aio_suspend", "aio_suspend64", "lio_listio", "lio_listio64"}),
    "seek": frozenset({"lseek", "lseek64", "fseek", "fseeko", "fseeko64", "rewind", "fsetpos"}),
}
# Calls of a kind are named after what so many of them are, or so much of their time is.
NAMED_SHARE = 0.8
# Where a share of the time is stated beside them, they must have nearly all of it.
NEARLY_ALL = 0.95
# And not after what so few of them are.
RARE = 0.01
# What makes a file ready for reading and writing.
SETTING_UP = ("MPI_File_open", "MPI_File_set_view", "MPI_File_close")
MPIIO_CALL = re.compile(
    "MPI_File_(?P<begins>i?)(?P<kind>read|write)((?P<shared>_shared|_ordered)|(_at)?(?P<all>_all)?)"
)
_SYNC_NAMES = ("fsync", "fdatasync", "msync", "sync", "syncfs", "sync_file_range")
# To remove a directory may take a hundred times as long as to remove a file.
OF_DIRECTORIES = frozenset({"rmdir"})
# What sets a file's size, what reserves room for it, and what does that or frees room (it punches
# holes) or shifts what is there: which of them is not recorded.
LENGTHS = {
    "truncation": frozenset({"ftruncate", "ftruncate64", "truncate", "truncate64"}),
    "allocation": frozenset({"posix_fallocate", "posix_fallocate64"}),
    "fallocate": frozenset({"fallocate", "fallocate64"}),
}
# They write what they read from another file, and the bytes pass no memory of the program.
COPIES = ("copy_file_range", "sendfile", "sendfile64", "splice")
# Requests below this size cost more by their number than by their bytes: at 0.2 ms a request, usual
# on network file systems, 64 KiB is 330 MB/s, less than one client's link carries.
SMALL_BYTES = 64 * 1024
# Requests are called small where so many of them are.
MOSTLY_SMALL = 0.9
# Fewer requests than this per run are told by their time, not by their number.
MANY_REQUESTS = 1000
# Larger ones beside them with so much of the bytes make an average that none of them has.
MIXED = 0.1
# With so many more calls than bytes, nearly all of them move none.
MANY_EMPTY = 10
# A file opened so often by one rank could have stayed open.
REOPENED = 20
# … where those that move none are counted.
MOSTLY_EMPTY = 0.9
# A page cache takes a small request in microseconds: one that takes this waits for a device.
WAITING_NS = 100_000
# A synchronisation of so much takes longer for its bytes than for its call: at 1 GB/s, 4 ms.
LARGE_SYNC_BYTES = 4_000_000
# A lock that nobody else holds is granted in microseconds: one that takes this long was waited for.
CONTENDED_NS = 50_000
# So many failed calls among others make an average that none of either has.
SPOILING = 0.05
# What they hand over counts as writes.
FLUSH_NAMES = ("fflush", "fflush_unlocked")


_GROUPS = {
    "other": OTHERS,
    "sync": {name: frozenset({name}) for name in _SYNC_NAMES},
    "truncate": LENGTHS,
}


class Use(NamedTuple):
    """Sums of the columns of a table of files. A time is summed over ranks."""

    sums: dict[str, int]

    def calls(self, *kinds: str) -> int:
        return sum(self.sums[KINDS[kind][0]] for kind in kinds)

    def time_ns(self, *kinds: str) -> int:
        """In calls of these kinds; of all kinds where none is named."""
        return sum(self.sums[f"{kind}_ns"] for kind in kinds or KINDS)

    def bytes(self, kind: str) -> int:
        return self.sums[moved_column(kind)] if kind in MOVING_KINDS else 0

    def pattern(self, kind: str, name: str) -> int:
        """A count of reads or of writes: consecutive, forward, backward, unaligned, small,
        empty."""
        return self.sums[f"{KINDS[kind][0]}_{name}"]

    def gathered(self, kind: str) -> int:
        """Calls of stdio that a buffer made fewer requests of; 0 where it did not."""
        calls = self.sums.get(f"buffered_{KINDS[kind][0]}", 0)
        return calls if calls > self.calls(kind) else 0

    @property
    def kind(self) -> str:
        """What takes most of the time."""
        return max(KINDS, key=lambda kind: self.time_ns(kind))

    @property
    def waits_for_locks(self) -> bool:
        return self.each_ns("lock") >= CONTENDED_NS

    def each_ns(self, kind: str) -> int:
        return self.time_ns(kind) // max(self.calls(kind), 1)

    def speed(self, kind: str) -> str:
        """Bytes over the time in these calls, summed over ranks: what one rank sees. Empty where
        none moved."""
        size, time_ns = self.bytes(kind), self.time_ns(kind)
        return rate(size * NANOSECONDS_PER_SECOND / time_ns) if size and time_ns else ""


PATTERN_COLUMNS = tuple(
    f"{noun}_{name}"
    for noun in ("reads", "writes")
    for name in ("consecutive", "forward", "backward", "unaligned", "small", "small_ns", "empty")
)
BUFFERED_COLUMNS = (
    *("buffered_reads", "buffered_writes", "buffered_bytes_read", "buffered_bytes_written"),
)
FAILED_COLUMNS = (
    *("failed_writes", "failed_others", "failed_ns"),
    *("failed_mpiio_opens", "failed_mpiio_writes", "failed_mpiio_others"),
)
COLUMNS = (
    *(column for kind, (calls, _) in KINDS.items() for column in (calls, f"{kind}_ns")),
    *("bytes_read", "bytes_written", "mpiio_bytes_read", "mpiio_bytes_written", "mpiio_ns"),
    *BUFFERED_COLUMNS,
    *FAILED_COLUMNS,
    *PATTERN_COLUMNS,
)


def sum_use(table: dict[str, Any], rows: Iterable[int] | None = None) -> Use:
    """Sums of `table` ("files" or "file_rank") over `rows`, or over all."""
    columns = {name: np.asarray(table[name], dtype=np.int64) for name in COLUMNS}
    if rows is not None:
        chosen = np.fromiter(rows, dtype=np.int64)
        columns = {name: column[chosen] for name, column in columns.items()}
    return Use({name: int(column.sum()) for name, column in columns.items()})


def are_reopened(files: dict[str, Any]) -> np.ndarray:
    """For each row of "files" whether each rank that uses it opens it again and again."""
    opens, ranks = (np.asarray(files[name]) for name in ("opens", "ranks"))
    return np.asarray((opens >= REOPENED * ranks) & (opens > 0))


def moved_column(kind: str) -> str:
    """The column of what reads moved, or writes."""
    return "bytes_read" if kind == "read" else "bytes_written"


def noun_of(kind: str, functions: dict[str, Any], calls: int) -> str:
    """The noun for one of `calls`; for a synchronisation the function's name where only one is
    called, for other calls the words of those that are made. Where these are not nearly all, that
    of the kind."""
    groups = _GROUPS.get(kind, {})
    told = sum(calls_of_functions(functions, names) for names in groups.values())
    if told < NAMED_SHARE * calls:
        return KINDS[kind][1]
    named = set(map(str, functions["name"]))
    if kind == "truncate":
        lengths = [word for word, names in LENGTHS.items() if named & names]
        return lengths[0] if len(lengths) == 1 else KINDS[kind][1]
    if kind == "other":
        made = {word: calls_of_functions(functions, names) for word, names in OTHERS.items()}
        notable = {word: number for word, number in made.items() if number > RARE * told}
        # of what was called more often than on these files, all of the rarest may be elsewhere
        words = [word for word in notable if made[word] > told - calls] or list(notable)
        first, *more = words or [KINDS[kind][1]]
        return KINDS[kind][1] if len(more) > 1 else f"{first}s or {more[0]}" if more else first
    called = [name for name in _SYNC_NAMES if name in named]
    only = called[0] if len(called) == 1 and called[0] != "syncfs" else ""  # which has no plural
    return only if kind == "sync" and only else KINDS[kind][1]


def verbs_of(kind: str, functions: dict[str, Any]) -> tuple[str, str]:
    """What one rank does by such calls, and what several do; of other calls that which has nearly
    all of their time, if one has."""
    if kind != "other":
        return VERBS[kind]
    spent = {word: sums_of(functions, OTHERS[word])[1] for word in VERBS_OF_OTHERS}
    whole = sum(sums_of(functions, names)[1] for names in OTHERS.values())
    most = max(spent, key=lambda word: spent[word])
    enough = spent[most] >= NAMED_SHARE * whole > 0
    return VERBS_OF_OTHERS[most] if enough else VERBS[kind]


def plural_of(kind: str, functions: dict[str, Any], calls: int) -> str:
    """What several ranks make of them, in a sentence that compares the ranks."""
    noun = noun_of(kind, functions, calls)
    if kind != "other" or noun != KINDS[kind][1]:
        return f"{noun}s"
    named = set(map(str, functions["name"]))
    several = sum(bool(named & names) for names in OTHERS.values()) > 1
    return "renames, removals and the like" if several else "calls of other kinds"


def flushed(use: Use, functions: dict[str, Any]) -> int:
    """How many writes are a program's fflush, where most are; else 0."""
    calls = sums_of(functions, FLUSH_NAMES)[0]
    return calls if 2 * calls > use.calls("write") else 0


def sums_of(functions: dict[str, Any], names: Iterable[str]) -> tuple[int, int]:
    """Calls of these functions, and the time in them."""
    rows = zip(map(str, functions["name"]), functions["calls"], functions["time_ns"], strict=True)
    found = [(int(calls), int(time_ns)) for name, calls, time_ns in rows if name in set(names)]
    return sum(calls for calls, _ in found), sum(time_ns for _, time_ns in found)


def bytes_of_functions(functions: dict[str, Any], names: Iterable[str]) -> int:
    rows = zip(map(str, functions["name"]), functions["bytes"], strict=True)
    return sum(int(size) for name, size in rows if name in set(names))


def is_copied(functions: dict[str, Any], size: int) -> bool:
    """Whether most of so many bytes that are written are copied from another file."""
    return 0 < size * NAMED_SHARE <= bytes_of_functions(functions, COPIES)


def calls_of_functions(functions: dict[str, Any], names: Iterable[str]) -> int:
    return sums_of(functions, names)[0]


def mpiio_ways(functions: dict[str, Any], *kinds: str) -> dict[str, int]:
    """The time in MPI-IO's reads and writes (those of `kinds`), summed over ranks: by all ranks
    together, through the shared pointer, or each on its own."""
    found = {"collective": 0, "shared": 0, "independent": 0}
    for name, time_ns in zip(map(str, functions["name"]), functions["time_ns"], strict=True):
        if not (match := MPIIO_CALL.match(name)) or match["kind"] not in (kinds or MOVING_KINDS):
            continue
        way = "shared" if match["shared"] else "collective" if match["all"] else "independent"
        found[way] += int(time_ns)
    return found


def moves_little_alone(functions: dict[str, Any]) -> bool:
    """Whether MPI-IO's reads and writes of each rank on its own carry few bytes each."""
    matches = ((name, MPIIO_CALL.match(name)) for name in map(str, functions["name"]))
    names = [name for name, match in matches if match and not (match["all"] or match["shared"])]
    return bytes_of_functions(functions, names) < SMALL_BYTES * calls_of_functions(functions, names)


def shared_calls(functions: dict[str, Any]) -> tuple[str, int]:
    """The function with most calls that move the pointer that ranks share, and how many there
    are; ("", 0) where none is called."""
    calls = zip(map(str, functions["name"]), functions["calls"], strict=True)
    shared = {
        name: int(number)
        for name, number in calls
        if (match := MPIIO_CALL.match(name)) and match["shared"]
    }
    return max(shared.items(), key=lambda call: call[1], default=("", 0))


def waits_for_collective(functions: dict[str, Any]) -> bool:
    """Whether ranks read and write together by calls that do not block."""
    rows = zip(map(str, functions["name"]), functions["time_ns"], strict=True)
    spent = {False: 0, True: 0}
    for name, time_ns in rows:
        if (match := MPIIO_CALL.match(name)) and match["all"]:
            spent[bool(match["begins"])] += int(time_ns)
    return spent[True] > spent[False]


def calls_of(use: Use, kind: str, functions: dict[str, Any]) -> str:
    """`120 writes of 10 MB on average, 36 ms each`, `8 fsyncs of 33 ms each`. Of other calls, and
    of synchronisations by several functions, the one kind, or of other calls the two kinds, that
    have nearly all the time: `5 renames of 3 ms each`, however many seeks there are."""
    calls, time_ns = use.calls(kind), use.time_ns(kind)
    named = _removals_apart(functions) if kind == "other" else _GROUPS.get(kind, {})
    groups = {word: sums_of(functions, names) for word, names in named.items()}
    longest = sorted((word for word in groups if groups[word][0]), key=lambda w: -groups[w][1])
    for words in (longest[:1], longest[:2] if kind == "other" else ()):
        made, spent_ns = (sum(groups[word][i] for word in words) for i in (0, 1))
        if words and calls >= made and time_ns >= spent_ns >= NEARLY_ALL * time_ns:
            return " and ".join(_made(word, *groups[word]) for word in words)
    noun = noun_of(kind, functions, calls)
    if kind not in MOVING_KINDS:
        return _made(noun, calls, time_ns)
    if failed := notably_failed(use, kind):  # which moved nothing, and mostly take less
        calls, time_ns = calls - failed, max(time_ns - use.sums["failed_ns"], 0)
    size = byte_count(use.bytes(kind) / max(calls, 1))
    each = nanoseconds(time_ns // max(calls, 1))
    return f"{count(calls, noun)} of {size} on average, {each} each"


def notably_failed(use: Use, kind: str) -> int:
    """How many of the writes failed, where they are enough to spoil an average; else 0."""
    failed = use.sums["failed_writes"] if kind == "write" else 0
    return failed if SPOILING * use.calls("write") <= failed < use.calls("write") else 0


def _removals_apart(functions: dict[str, Any]) -> dict[str, frozenset[str]]:
    """OTHERS, but of the removals of files and of directories only those with nearly all of their
    time, if either has: an average of both is of neither."""
    whole = sums_of(functions, OTHERS["removal"])[1]
    kinds = {"rmdir": OF_DIRECTORIES, "removal": OTHERS["removal"] - OF_DIRECTORIES}
    longest = max(kinds, key=lambda word: sums_of(functions, kinds[word])[1])
    if sums_of(functions, kinds[longest])[1] < NAMED_SHARE * whole:
        return OTHERS
    only = {"removal": (longest, kinds[longest])}
    return dict(only.get(word, (word, names)) for word, names in OTHERS.items())


def _made(noun: str, calls: int, time_ns: int) -> str:
    each = nanoseconds(time_ns // max(calls, 1))
    several = "calls of syncfs" if noun == "syncfs" else ""
    return f"{count(calls, noun, several)} of {each}" + (" each" if calls > 1 else "")


def has_large_ones(sizes: dict[str, Any], rows: np.ndarray, use: Use, kind: str) -> bool:
    """Whether larger requests lie between small ones with so many of the bytes that an average is
    of neither. `sizes`: the table of calls by decade of bytes, the first of which ends at 100."""
    if use.calls(kind) == use.pattern(kind, "small"):
        return False
    decades = np.asarray(sizes[KINDS[kind][0]])[rows].sum(axis=0)
    least = 10 ** np.arange(1, len(decades) + 1)
    return bool((decades * least)[least > SMALL_BYTES].sum() > MIXED * use.bytes(kind))


def small_ones_of(use: Use, kind: str, mixed: bool = False) -> str:
    """`40,000 small writes of 60 B on average`; of what large ones lie between, how many are
    small."""
    noun = KINDS[kind][0]
    if mixed:
        less = f"of less than {SMALL_BYTES // 1024} KiB each"
        return f"{use.pattern(kind, 'small'):,} small {noun} {less}"
    mean = byte_count(use.bytes(kind) / use.calls(kind))
    return f"{use.calls(kind):,} small {noun} of {mean} on average"


def gathered_of(use: Use, kind: str) -> str:
    """`160,002 prints in 2,134 requests of 4.10 kB on average`, of what stdio's buffer gathered; of
    reads `reads of stdio`."""
    noun = {"read": ("read of stdio", "reads of stdio"), "write": ("print", "prints")}[kind]
    calls, requests = use.gathered(kind), use.calls(kind)
    size = byte_count(use.bytes(kind) / max(requests, 1))
    return f"{count(calls, *noun)} in {count(requests, 'request')} of {size} on average"
