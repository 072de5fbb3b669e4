"""One client's calls on files of a directory, each with the time that it took.

Nothing is measured twice on the same file: what a client knows of a file is a part of the answer.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailrace.calibration.stopwatch import Stopwatch

Samples = dict[str, float]
KIB = 1 << 10
MIB = 1 << 20
SMALL = 4 * KIB
# What file systems say that have no locks.
REFUSED = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)


@dataclass(frozen=True)
class Sizes:
    """Bytes: of most experiments, so that the way to the servers takes a while; and of those that
    fill the client's cache, if that can be done in seconds."""

    bulk: int
    room: int


class Probe:
    """Makes files in `directory`, under names of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._files = 0
        self._bytes = os.urandom(4 * MIB)  # what is all zeros may never reach a disk

    def new_path(self) -> Path:
        self._files += 1
        return self.directory / f"probe-{self._files}"

    def create(self, path: Path) -> tuple[int, float]:
        """The descriptor, and what making the file took, s."""
        return timed(os.open, path, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)

    def write(self, file: int, size: int, offset: int) -> float:
        """One call; what it took, s."""
        block = memoryview(self._bytes)[:size]
        written, elapsed = timed(os.pwrite, file, block, offset)
        if written != size:
            raise OSError(28, os.strerror(28), str(self.directory))
        return elapsed

    def write_all(self, file: int, size: int, block: int = MIB) -> list[float]:
        """In blocks, one after another; what each took, s."""
        return [
            self.write(file, min(block, size - offset), offset) for offset in range(0, size, block)
        ]

    def read_all(self, file: int, size: int, block: int = MIB) -> float:
        return sum(
            timed(os.pread, file, min(block, size - offset), offset)[1]
            for offset in range(0, size, block)
        )

    @contextmanager
    def on_its_way(self, size: int) -> Iterator[None]:
        """While so much was written to another file, of which nothing is known to have arrived;
        afterwards all has."""
        path = self.new_path()
        file, _ = self.create(path)
        self.write_all(file, size)
        yield
        os.fsync(file)
        os.close(file)
        path.unlink()

    def file_of(self, size: int) -> Path:
        """A file that is on the servers, and not in this client's cache."""
        path = self.new_path()
        file, _ = self.create(path)
        self.write_all(file, size)
        os.fsync(file)
        forget(file)
        os.close(file)
        return path


def forget(file: int) -> None:
    """Asks the kernel to drop what it has of the file in memory; what is not written yet stays."""
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def lock(file: int) -> bool:
    """Whether the file system grants it: a client of Lustre does so only where it was told to."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in REFUSED:
            raise
        return False
    return True


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """What the call returned, and what it took, s."""
    watch = Stopwatch()
    result = call(*arguments)
    return result, watch.elapsed_s()
