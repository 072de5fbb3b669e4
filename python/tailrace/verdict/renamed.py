"""Names that a file had one after the other: programs write a file under a name of its own until it
is whole, and rename it. A rename is recorded under the old name; the new one is taken to be a name
beside it, without what is set off before or behind (`out.nc.tmp`, `.tmp-out.nc`), to which nothing
was written, as predictions do (crates/tailrace-predict/src/renamed.rs); or, where the old one's
ending says that it is not for long, the only such name with another ending (`out.tmp`, `out.nc`).
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from tailrace.verdict.requests import OTHERS, calls_of_functions

NOT_FOR_LONG = re.compile(rb"(.+)\.(tmp|temp|part|partial|new|incomplete|unfinished)$")


def former_names(columns: dict[str, Any]) -> dict[int, int]:
    """By row of "files": the row with the name that the file had before. None where fewer files
    were renamed than that would be."""
    files = columns["files"]
    renames = calls_of_functions(columns["functions"], OTHERS["rename"])
    if not renames:
        return {}
    written, others = (np.asarray(files[name]) > 0 for name in ("bytes_written", "others"))
    paths = [bytes(path) for path in files["path"]]
    unwritten = {paths[row]: int(row) for row in np.flatnonzero(~written)}
    before = {path: _without_ending(path) for path in unwritten}
    alike = Counter(before.values())
    only = {told: path for path, told in before.items() if alike[told] == 1}
    found = {}
    for row in map(int, np.flatnonzero(written & others)):
        new = next(filter(unwritten.__contains__, _shorter(paths[row])), None)
        if new is None and (told := NOT_FOR_LONG.match(paths[row])):
            new = only.get(told[1])
        if new is not None:
            found[unwritten[new]] = row
    return found if len(found) <= renames else {}


def _without_ending(path: bytes) -> bytes:
    before, dot, ending = path.rpartition(b".")
    return before if dot and b"/" not in ending else path


def _shorter(path: bytes) -> Iterator[bytes]:
    """`out.10` does not become `out.1`."""
    folder, slash, name = path.rpartition(b"/")
    for place, byte in enumerate(name):
        if not bytes([byte]).isalnum():
            for rest in filter(None, (name[:place], name[place + 1 :])):
                yield folder + slash + rest
