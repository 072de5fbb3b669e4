"""What strace -ff -y wrote: bytes read from and written to each file, by the processes that
Tailrace records, which are the ranks with their threads and not what they start."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

Moved = dict[str, tuple[int, int]]

READS = frozenset({"read", "pread64", "readv", "preadv", "preadv2"})
WRITES = frozenset({"write", "pwrite64", "writev", "pwritev", "pwritev2"})
STARTS = frozenset({"clone", "clone3", "fork", "vfork"})
_LINE = re.compile(r"^(\w+)\((.*)\)\s+= (\d+)")
_NAMED = re.compile(r"\d+<([^>]*)>")


def bytes_per_file(logs: Path, below: Path) -> Moved:
    """(bytes read, bytes written) of each file below that directory."""
    processes = {int(path.suffix[1:]): path.read_text() for path in logs.iterdir()}
    started = {child for text in processes.values() for child in _children(text)}
    moved: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for number, text in processes.items():
        if number not in started:
            for line in text.splitlines():
                _count(line, moved)
    return {
        path: (read, written)
        for path, (read, written) in moved.items()
        if path.startswith(f"{below}/") and (read or written)
    }


def _children(text: str) -> set[int]:
    """Processes that one has started: not its threads."""
    calls = filter(None, map(_LINE.match, text.splitlines()))
    return {int(call[3]) for call in calls if call[1] in STARTS and "CLONE_THREAD" not in call[2]}


def _count(line: str, moved: dict[str, list[int]]) -> None:
    call = _LINE.match(line)
    if call is None:
        return
    name, size = call[1], int(call[3])
    files = _NAMED.findall(call[2])
    if name in READS:
        moved[files[0]][0] += size
    elif name in WRITES:
        moved[files[0]][1] += size
    elif name == "sendfile":  # to, from
        moved[files[0]][1] += size
        moved[files[1]][0] += size
    elif name == "copy_file_range":  # from, to
        moved[files[0]][0] += size
        moved[files[1]][1] += size
