"""What the program did beside the main threads' calls: processes that it started, ways of I/O that
no call shows, other threads; and how long the main threads slept outside all recorded calls.

Amounts that were not recorded are the kernel's (capture/usage.c) less what was. The kernel counts
whole pages when they are first written, so that for every recorded write that does not go on where
the one before ended, and every open of a file that is not only read, a page more is taken off:
what is left went another way.
"""

from typing import NamedTuple

import numpy as np

from tailrace.names import base_name, printable
from tailrace.units import byte_count, count, nanoseconds, percent
from tailrace.verdict.evidence import TOO_SHORT_NS, Evidence

PAGE_BYTES = 4096
# The page cache keeps a file in pieces of up to so much, and counts a piece that is touched whole.
LARGE_PAGE_BYTES = 2 << 20
# So often the kernel looks for what is to be brought to storage.
WRITE_BACK_NS = 5_000_000_000
# Less is not worth a word: programs page in, and write logs.
NOTABLE_BYTES = 256 * 1024
# Where so much of what is left was taken off for whole pages, it may have been written, too.
NOTABLE_ROUNDING = 0.01
# About what two runs of one program differ by.
NOTABLE_SLEEP = 0.02
NOTABLE_INSIDE = 0.02
# A main thread that sleeps for so much of its time outside calls, or of what it is there longer
# than others, is not said to compute.
MOSTLY_ASLEEP = 0.5
# Of the run; however long the main threads sleep: on a loaded machine each second takes longer.
MUCH_RUN = 0.1
# Beside the run: file calls outside of it that are worth a word.
NOTABLE_OUTSIDE = 0.1
NOTABLE_OUTSIDE_NS = 50_000_000
# Processes that moved nothing, and that the main threads waited for less than this share of the
# run, are not worth a word.
NOTABLE_WAIT = 0.05
# About what a program has that only starts and loads its libraries.
MANY_FAULTS = 10_000
# What ran before the recorded program and moved little is worth a word from so long on.
NOTABLE_EARLIER_NS = 1_000_000_000
# The engine keeps 1,000 notes of a thread, of which a mapping that may be written makes two, and
# other notes are among them: of so many mapped files there may be more.
MAPPED_PERHAPS_MORE = 400
WAYS = {"io_uring": "io_uring", "native_aio": "io_submit"}


class Usage(NamedTuple):
    """Bytes that the kernel wrote and read for the processes of the ranks, with the processes that
    they had started and waited for; those of the latter alone, and their processor time."""

    written: int
    read: int
    children_written: int
    children_read: int
    children_ns: int


class Amount(NamedTuple):
    """`at_least`: more may have been written."""

    written: int = 0
    read: int = 0
    at_least: bool = False

    @property
    def bytes(self) -> int:
        return self.written + self.read

    def verbs(self) -> str:
        """`wrote 40 MB and read 2 MB`; empty where neither is notable."""
        words = (("wrote", self.written), ("read", self.read))
        return " and ".join(f"{verb} {byte_count(size)}" for verb, size in words if size)

    def passive(self, read_at_most: str = "") -> str:
        least = "at least " if self.at_least else ""
        words = (("written", self.written, least), ("read", self.read, read_at_most))
        parts = [f"{most}{byte_count(size)} were {verb}" for verb, size, most in words if size]
        return " and ".join(parts)


def usage_of(evidence: Evidence) -> Usage | None:
    """None where the trace does not tell, or tells of another time than the run's."""
    words = evidence.columns["meta"].get("usage", "").split()
    named = map(str, evidence.columns["functions"]["name"])
    if len(words) != 5 or not all(map(str.isdigit, words)) or "MPI_Pcontrol" in named:
        return None
    return Usage(*map(int, words))


def sleep_is_unknown(evidence: Evidence) -> bool:
    """Whether nothing was recorded of how long the main thread ran, because the program was killed
    or ended by a system call of its own. Traces of other tools never tell."""
    meta = evidence.columns["meta"]
    return bool(meta.get("tailrace")) and "usage" not in meta


def by_processes(evidence: Evidence) -> Amount:
    """What processes moved that were started and not recorded."""
    usage = usage_of(evidence)
    if usage is None:
        return Amount()
    recorded = int(evidence.of_ranks("bytes_by_other_processes").sum())
    return _notable(usage.children_written - recorded, usage.children_read - recorded)


def by_other_ways(evidence: Evidence) -> Amount:
    """What the ranks' own processes moved by no call that was recorded.

    Where no way to do so was seen (liburing that is linked statically, system calls of the
    program's own), what was read is the pages of programs and libraries, and what was written is
    more than what calls account for only beyond the largest pages that each may have touched. Of
    ranks it may be the memory that MPI shares."""
    usage, use = usage_of(evidence), evidence.use
    known = bool(ways(evidence))
    if usage is None or (evidence.columns["meta"].get("mpi") and not known):
        return Amount()
    touched = use.calls("write") + use.calls("open")
    rounding = PAGE_BYTES * _begun_pages(evidence) if known else LARGE_PAGE_BYTES * touched
    written = usage.written - usage.children_written - use.bytes("write") - rounding
    read = usage.read - usage.children_read - use.bytes("read")
    if not known and written < _written_again(evidence):
        written = 0
    if only_mapped(evidence) and not evidence.columns["meta"].get("mapped_writable"):
        written = 0  # the kernel's pages are larger than assumed: nothing can be stored there
    amount = _notable(written, read if known else 0)
    return amount._replace(at_least=known and rounding >= NOTABLE_ROUNDING * amount.written > 0)


def _begun_pages(evidence: Evidence) -> int:
    """So many pages, about, the kernel counts beyond the bytes of recorded writes. Of writes that
    follow each other it counts each page once, but for the one at their end, which is counted again
    when it has been brought to storage meanwhile."""
    names = ("opens", "reads", "writes", "writes_consecutive", "syncs")
    opens, reads, writes, on, syncs = (np.asarray(evidence.files[name]) for name in names)
    opened = np.where((writes > 0) | (reads == 0), opens, 0)
    again = np.minimum(on, 1 + evidence.times.runtime_ns // WRITE_BACK_NS + syncs)
    return int((opened + writes - on + again).sum())


def _written_again(evidence: Evidence) -> int:
    """At most so much of capture's own records the kernel counts again: the piece that is being
    written to, each time that it has been brought to storage meanwhile."""
    return LARGE_PAGE_BYTES * (1 + evidence.times.runtime_ns // WRITE_BACK_NS)


def _notable(written: int, read: int) -> Amount:
    written, read = (size if size >= NOTABLE_BYTES else 0 for size in (written, read))
    return Amount(written, read)


def started(evidence: Evidence) -> int:
    """How many processes were started and not recorded."""
    return _words(evidence).get("processes", 0)


def started_for_nothing(evidence: Evidence) -> bool:
    """Whether the processes that were started have all ended, and neither moved bytes to speak of
    nor took time that the main threads could have waited for: `uname`, `mv`."""
    usage = usage_of(evidence)
    if usage is None or not usage.children_ns or "left" in _words(evidence):
        return False
    ran = evidence.share(usage.children_ns / max(evidence.ranks, 1))
    slept = slept_ns(evidence) is None or slept_share(evidence) >= NOTABLE_WAIT
    return not (by_processes(evidence).bytes or slept or ran >= NOTABLE_WAIT)


def earlier_ns(evidence: Evidence) -> int:
    """For how long the command ran other programs before it became the one that is recorded (a
    shell's last command takes its place); 0 where it did not, or where they moved little and were
    soon done, as in the scripts that start R."""
    words = evidence.columns["meta"].get("earlier", "").split()
    if len(words) != 2 or not all(map(str.isdigit, words)):
        return 0
    before_ns, moved = map(int, words)
    notable = moved >= NOTABLE_BYTES or before_ns >= NOTABLE_EARLIER_NS
    return before_ns if notable and evidence.share(before_ns) >= NOTABLE_WAIT else 0


class Became(NamedTuple):
    """A program of which nothing is recorded, that the recorded one became by `exec`: how many
    ranks did so, and for how long, less than 0 where that is not known."""

    ranks: int
    time_ns: int
    name: str


def became(evidence: Evidence) -> Became | None:
    """At the end; None where it was soon over."""
    words = evidence.columns["meta"].get("became", "").split(" ", 2)
    if len(words) != 3 or not words[0].isdigit() or not words[1].removeprefix("-").isdigit():
        return None
    found = Became(int(words[0]), int(words[1]), printable(words[2]))
    return found if found.time_ns < 0 or _is_notable_wait(evidence, found.time_ns) else None


def became_meanwhile(evidence: Evidence) -> Became | None:
    """Before it became one again that is recorded; None where it was soon over."""
    words = evidence.columns["meta"].get("became_meanwhile", "").split(" ", 1)
    if len(words) != 2 or not words[0].isdigit():
        return None
    found = Became(1, int(words[0]), printable(words[1]))
    return found if _is_notable_wait(evidence, found.time_ns) else None


def _is_notable_wait(evidence: Evidence, time_ns: int) -> bool:
    return time_ns >= TOO_SHORT_NS and evidence.share(time_ns) >= NOTABLE_WAIT


def longest_outside(evidence: Evidence) -> tuple[int, int]:
    """The rank that is longest in file calls before MPI_Init and after MPI_Finalize, and for how
    many ns; 0 where that is little beside the run, or the program itself chose other bounds."""
    outside = evidence.of_ranks("outside_io_ns")
    if usage_of(evidence) is None or not evidence.columns["meta"].get("mpi") or not len(outside):
        return 0, 0
    rank = int(outside.argmax())
    longest = int(outside[rank])
    enough = longest >= NOTABLE_OUTSIDE_NS and evidence.share(longest) >= NOTABLE_OUTSIDE
    return rank, longest if enough else 0


def ways(evidence: Evidence) -> list[str]:
    """By which I/O was done that no call shows, as one names them."""
    words = _words(evidence)
    found = [name for key, name in WAYS.items() if key in words]
    mapped = words.get("mmap", 0)
    path = evidence.columns["meta"].get("mapped_file", "")
    if mapped == 1 and path:
        found.append(f"a mapping of {base_name(path)}")
    elif mapped:
        at_least = "at least " if mapped >= MAPPED_PERHAPS_MORE else ""
        found.append(f"{at_least}{count(mapped, 'mapped file')}")
    return found


def page_faults(evidence: Evidence) -> str:
    """Of programs that use mapped files: `the program had 46,000 page faults, 3 of them for what
    was not in memory`; empty where they are few, or not known."""
    counted = evidence.columns["meta"].get("faults", "").split()
    if not _words(evidence).get("mmap") or len(counted) != 2 or not all(map(str.isdigit, counted)):
        return ""
    quick, slow = map(int, counted)
    if quick + slow < MANY_FAULTS:
        return ""
    who = "the program" if evidence.ranks == 1 else "the ranks"
    absent = f", {slow:,} of them for what was not in memory" if slow else ", all served by memory"
    return f"{who} had {quick + slow:,} page faults{absent}, which count as computation"


def only_mapped(evidence: Evidence) -> bool:
    words = _words(evidence)
    return bool(words.get("mmap")) and not any(key in words for key in WAYS)


def waits_for_pages(evidence: Evidence) -> bool:
    """Whether nothing else is known that the main threads may sleep for than the pages of mapped
    files: bytes are read by no call, and there are neither threads nor processes that work."""
    others = started(evidence) or overlapped_io_ns(evidence) or moved_by_others(evidence)
    return only_mapped(evidence) and bool(by_other_ways(evidence).read) and not others


def starts_out_of_reach(evidence: Evidence) -> bool:
    """Whether it started processes that cannot load capture's library."""
    return "out_of_reach" in _words(evidence)


def _words(evidence: Evidence) -> dict[str, int]:
    """`processes=4 io_uring mmap=1`."""
    parts = (word.partition("=") for word in evidence.columns["meta"].get("unseen", "").split())
    return {key: int(number) if number.isdigit() else 1 for key, _, number in parts}


def unrecorded_bytes(evidence: Evidence) -> int:
    return by_processes(evidence).bytes + by_other_ways(evidence).bytes


def moved_by_others(evidence: Evidence) -> int:
    """Of the recorded bytes, those of threads and processes that are not the main ones."""
    keys = ("bytes_by_other_threads", "bytes_by_other_processes")
    return sum(int(evidence.of_ranks(key).sum()) for key in keys)


def moved_by_processes(evidence: Evidence) -> bool:
    """Whether most of these bytes are other processes'."""
    processes = int(evidence.of_ranks("bytes_by_other_processes").sum())
    return 2 * processes > moved_by_others(evidence)


def who_else(evidence: Evidence) -> str:
    """Whose calls beside the main threads' are recorded: those who move bytes, and both where both
    do, since whose the time in these calls is is not known. Of calls that move none that is not
    known, either, where processes are recorded, too."""
    threads = evidence.of_ranks("bytes_by_other_threads").any()
    if evidence.of_ranks("bytes_by_other_processes").any():
        others = "threads and processes" if threads else "processes"
        return f"other {others} of the program"
    either = not threads and evidence.columns["meta"].get("processes") == "all"
    return "other processes or threads of the program" if either else "other threads"


def moved_by_main(evidence: Evidence) -> int:
    keys = ("bytes_read", "bytes_written")
    whole = sum(int(evidence.of_ranks(key).sum()) for key in keys)
    return whole - moved_by_others(evidence)


def slept_ns(evidence: Evidence) -> np.ndarray | None:
    """By rank: at least so long the main thread neither ran nor was ready to, outside MPI and file
    calls. None where it is not known."""
    texts = evidence.columns["meta"].get("ran_ns", "").split(",")
    processors = evidence.processors
    if len(texts) != evidence.ranks or not all(map(str.isdigit, texts)) or processors is None:
        return None
    if not processors.known.all() or usage_of(evidence) is None:
        return None
    ran = np.array(list(map(int, texts)), dtype=np.int64)
    waited = processors.waited_ns[:, 0]
    return np.clip(evidence.times.useful_ns - ran - waited, 0, None)


def asleep(evidence: Evidence) -> float:
    """Of the rank with most time outside MPI and file calls, the share of it that its main thread
    sleeps at least; 0 where that is neither most of it nor most of what the rank is there longer
    than the ranks on average, or where it is not known. It is no computation then that the others
    wait for."""
    slept, outside = slept_ns(evidence), evidence.computed_ns
    if slept is None or not outside.any():
        return 0.0
    rank, awake = outside.argmax(), np.clip(outside - slept, 0, None)
    share = min(float(slept[rank] / outside[rank]), 1.0)
    mean_ns = evidence.times.mean_ns
    longer_ns = float(outside[rank] - mean_ns(outside))
    computes_longer_ns = float(awake[rank] - mean_ns(awake))
    explains = longer_ns - computes_longer_ns >= MOSTLY_ASLEEP * longer_ns > 0
    return share if share >= MOSTLY_ASLEEP or explains else 0.0


def slept_share(evidence: Evidence) -> float:
    """Of the run, on average over the ranks: at least so much."""
    slept = slept_ns(evidence)
    return evidence.share(float(slept.mean())) if slept is not None and len(slept) else 0.0


def slept_text(evidence: Evidence) -> str:
    """`20.0 % of the run`, or at least that: where a thread ran inside MPI and file calls, which is
    not told apart, it slept for so much longer outside of them."""
    times, inside = evidence.times, np.zeros(evidence.ranks, dtype=np.int64)
    if (slept := slept_ns(evidence)) is not None:
        inside = np.minimum(times.useful_ns - slept, times.mpi_ns + times.io_ns)
    at_least = "at least " if evidence.share(float(inside.mean())) >= NOTABLE_INSIDE else ""
    return f"{at_least}{percent(slept_share(evidence))} of the run"


def who_runs_meanwhile(evidence: Evidence) -> str:
    """`other threads run for 2.90 s in all`, or the processes that the program waited for: where
    they ran, beyond what they may have while the main threads did, for so much of the run that
    they may well be waited for; else empty. Their own waits for a processor are not known."""
    usage, slept = usage_of(evidence), slept_ns(evidence)
    if usage is None or slept is None:
        return ""
    threads = evidence.columns["meta"].get("others_ran_ns", "")
    ran = {
        "other threads run": int(threads) if threads.isdigit() else 0,
        "processes that it started run": usage.children_ns,
    }
    who = max(ran, key=lambda name: ran[name])
    main_ns = sum(map(int, evidence.columns["meta"]["ran_ns"].split(",")))
    long = slept.any() and ran[who] - main_ns >= MUCH_RUN * evidence.times.runtime_ns
    return f"{who} for {nanoseconds(ran[who])} in all" if long else ""


class Talk(NamedTuple):
    """MPI calls of threads that are not the main ones."""

    threads: int
    calls: int
    time_ns: int


def talk_of(evidence: Evidence) -> Talk:
    keys = ("other_threads_in_mpi", "overlapped_mpi_calls", "overlapped_mpi_ns")
    return Talk(*(int(evidence.of_ranks(key).sum()) for key in keys))


def overlapped_io_ns(evidence: Evidence) -> int:
    return int(evidence.of_ranks("overlapped_io_ns").sum())


def of_others_mostly(evidence: Evidence) -> bool:
    """Whether the tables of files, which hold the calls of all threads, are about others than the
    main ones: then they do not say what the main threads' time in file calls is for."""
    return overlapped_io_ns(evidence) > int(evidence.times.io_ns.sum())
