"""More is moved than was asked for: MPI-IO sieves data, or a stream fills its buffer after a seek.

glibc fills a stream's buffer when it seeks to where the buffer does not reach: 4 KiB on most file
systems, 1 MiB and more on some, however few bytes are read there.
"""

import numpy as np

from tailrace.names import base_name
from tailrace.units import byte_count, count
from tailrace.verdict.by_path import moved_for_mpiio
from tailrace.verdict.cause import CAUSE_SHARE, Cause, dominant, only_row, where_of
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import (
    MANY_REQUESTS,
    OTHERS,
    calls_of,
    calls_of_functions,
    sum_use,
)

# So much more moved than asked for is amplified.
AMPLIFIED = 1.5
# Less than a device's block is no less work for it.
SECTOR_BYTES = 512
# Who asks for a file's size, or looks into its header, seeks a few times.
SEEKS_OF_AN_OPEN = 4
STREAM_SEEKS = OTHERS["seek"] - {"lseek", "lseek64"}
# Reads that no stream makes.
PAST_STREAMS = frozenset(
    {"read", "readv", "pread", "pread64", "preadv", "preadv64", "preadv2", "preadv64v2"}
)


def surplus(evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """For each file whether the file system moves notably more bytes than MPI-IO calls were asked
    to, as data sieving does; and the share of the bytes moved that nobody asked for."""
    files = evidence.files
    asked = np.asarray(files["mpiio_bytes_read"]) + np.asarray(files["mpiio_bytes_written"])
    moved = moved_for_mpiio(evidence).bytes
    return (asked > 0) & (moved >= AMPLIFIED * asked), 1 - asked / np.maximum(moved, 1)


def amplified(evidence: Evidence, kind: str) -> Cause | None:
    """The file system moves more bytes than MPI-IO calls were asked to: data sieving."""
    rows = dominant(evidence, kind, surplus(evidence)[0])
    if rows is None:
        return None
    file = int(rows[0])
    facts = evidence.described(sum_use(evidence.files, [file]), kind)
    text, advised = amplification_text(evidence, file), sieving_advised(evidence, file)
    return Cause(Kind.AMPLIFICATION, text, facts, file, advised=advised)


def sieving_advised(evidence: Evidence, file: int) -> str:
    """Reads and writes are sieved each by a setting of its own."""
    asked = [int(evidence.files[f"mpiio_bytes_{done}"][file]) for done in ("read", "written")]
    return "read" if asked[0] > asked[1] else ""


def amplification_text(evidence: Evidence, file: int) -> str:
    """`MPI-IO was asked to write 8.4 MB of grid.dat, and wrote 33.5 MB and read 25.2 MB`."""
    files, done = evidence.files, moved_for_mpiio(evidence)
    asked = (("write", files["mpiio_bytes_written"]), ("read", files["mpiio_bytes_read"]))
    moved = (("wrote", done.bytes_written), ("read", done.bytes_read))
    name = base_name(files["path"][file])
    wanted, did = (
        [f"{verb} {byte_count(size[file])}" for verb, size in sizes if size[file]]
        for sizes in (asked, moved)
    )
    return f"MPI-IO was asked to {' and to '.join(wanted)} of {name}, and {' and '.join(did)}"


def _seeking(evidence: Evidence) -> np.ndarray:
    """By file: whether a stream seeks in it for its reads, again and again, and each fills the
    buffer with notably more than is then read."""
    files = evidence.files
    reads, read, asked, others, opens = (
        np.asarray(files[name], dtype=np.int64)
        for name in ("reads", "bytes_read", "buffered_bytes_read", "others", "opens")
    )
    sought = (2 * others >= reads) & (others > SEEKS_OF_AN_OPEN * opens)
    more = (read >= AMPLIFIED * asked) & (read - asked >= SECTOR_BYTES * reads)
    own = np.asarray(files["mpiio_ns"]) == 0
    return np.asarray((asked > 0) & sought & more & own)


def read_after_seeks(evidence: Evidence) -> Cause | None:
    """That it takes half of the time in all file calls: the time of what a seek reads is its own.
    Bytes that the program reads past the stream are not told apart, but with as many of such calls
    as of the stream's seeks nothing is said."""
    files, functions = evidence.files, evidence.columns["functions"]
    rows = np.flatnonzero(_seeking(evidence))
    time_ns = np.asarray(files["read_ns"])[rows] + np.asarray(files["other_ns"])[rows]
    seeks, past = (calls_of_functions(functions, names) for names in (STREAM_SEEKS, PAST_STREAMS))
    if time_ns.sum() < CAUSE_SHARE * max(evidence.use.time_ns(), 1):
        return None
    if seeks < max(MANY_REQUESTS, past):
        return None
    use = sum_use(files, rows)
    asked, read = (byte_count(use.sums[name]) for name in ("buffered_bytes_read", "bytes_read"))
    streams = "a stream was" if len(rows) == 1 else "streams were"
    fills = "it fills its buffer" if len(rows) == 1 else "each fills its buffer"
    where = where_of(evidence, rows)
    text = f"{streams} asked for {asked} of {where}, and read {read}: {fills} anew after a seek"
    mean = byte_count(use.bytes("read") / use.calls("read"))
    facts = f"{calls_of(use, 'other', functions)}, with what a stream reads in them; "
    facts += f"{count(use.calls('read'), 'read')} of {mean} on average"
    return Cause(Kind.AMPLIFICATION, text, facts, only_row(rows), advised="stream")
