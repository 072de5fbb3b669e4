"""Stores of zarr: their metadata and their chunks are apart, as each wants something else.

| sentence                                   | said when                                          |
|--------------------------------------------|----------------------------------------------------|
| n files of zarr's metadata are written m   | of many small files most are in such a store, and  |
| times                                      | the names of metadata take longer than all others, |
|                                            | each written more than once                        |
"""

import re

import numpy as np

from tailrace.units import count
from tailrace.verdict.cause import Cause, part_of_io
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import METADATA_KINDS, calls_of, sum_use

# Until a file is whole it has a name of its own, without the ending of the one that it gets.
_METADATA = re.compile(
    rb"(?P<name>.*/(zarr|\.zarray|\.zgroup|\.zattrs|\.zmetadata))(\.json|\.[0-9a-f]{32}\.partial)?$"
)


def are_of_zarr(evidence: Evidence, rows: np.ndarray) -> bool:
    """Whether most of these files are in such stores."""
    return 2 * sum(b".zarr/" in bytes(evidence.files["path"][row]) for row in rows) > len(rows)


def metadata_of(evidence: Evidence, rows: np.ndarray) -> dict[int, bytes]:
    """Which of the rows are metadata, and of which file: all that were renamed over one name are
    that one."""
    found = {int(row): _METADATA.match(bytes(evidence.files["path"][row])) for row in rows}
    return {row: match["name"] for row, match in found.items() if match is not None}


def metadata_again(evidence: Evidence, rows: np.ndarray) -> Cause | None:
    """As each append to an array writes them."""
    names = metadata_of(evidence, rows)
    written = sum_use(evidence.files, [r for r in names if evidence.files["bytes_written"][r]])
    use = sum_use(evidence.files, names)
    others = sum_use(evidence.files, np.setdiff1d(rows, list(names)))
    files, times = len(set(names.values())), written.calls("open")
    longest = use.time_ns(*METADATA_KINDS) >= others.time_ns(*METADATA_KINDS)
    if not longest or times < 2 * max(files, 1):
        return None
    verb = "is" if files == 1 else "are"
    what = f"{count(files, 'file')} of zarr's metadata {verb} written {times:,} times"
    part = part_of_io(evidence, use.time_ns(*METADATA_KINDS))
    functions = evidence.columns["functions"]
    facts = f"{calls_of(use, 'open', functions)}; its chunks' names "
    facts += part_of_io(evidence, others.time_ns(*METADATA_KINDS))
    text = f"{what}: their opens, renames and the like {part}"
    return Cause(Kind.MANY_FILES, text, facts, advised="zarr metadata")
