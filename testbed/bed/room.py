"""The directory that the beds live in, and nothing outside it: the lock, and each bed's record of
what it is.

DIRECTORY/.testbed        says that the directory is a test bed's, and is the lock
DIRECTORY/NAME/bed.json   what was asked for; `complete` once all of it stands
DIRECTORY/NAME/cells/     who the holders are
DIRECTORY/NAME/mnt/0, 1…  the mounts
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from bed.errors import TestbedError
from bed.mounts import mounted_below

MARK = ".testbed"


class Room:
    """One directory with beds in it. `lock` is held while beds are changed, and a new cell's holder
    shares it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.lock = -1

    @contextlib.contextmanager
    def locked(self, make: bool) -> Iterator[None]:
        """Waits for another command on the same directory. Without `make`, a directory that is no
        bed's stays so."""
        if make:
            self._make()
        self.lock = self._take_lock()
        # the last bed went, and the directory with it, while we waited
        while make and self.lock < 0:
            self._make()
            self.lock = self._take_lock()
        try:
            yield
        finally:
            if self.lock >= 0:
                os.close(self.lock)
            self.lock = -1

    def exists(self) -> bool:
        return (self.directory / MARK).is_file()

    def _make(self) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if not self.exists() and any(self.directory.iterdir()):
                raise TestbedError(
                    f"{self.directory} holds something else",
                    "give --directory an empty or a new directory",
                    2,
                )
            (self.directory / MARK).touch()
        except OSError as error:
            raise TestbedError(f"{self.directory}: {error.strerror}", "", 2) from None

    def _take_lock(self) -> int:
        """The file may be removed, with the last bed, between opening and locking: then it is not
        the lock any more."""
        while self.exists():
            descriptor = os.open(self.directory / MARK, os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(descriptor), (self.directory / MARK).stat()):
                    return descriptor
            os.close(descriptor)
        return -1

    def leave_if_empty(self) -> None:
        """The last bed has gone: so does the directory."""
        if self.exists() and [entry.name for entry in self.directory.iterdir()] == [MARK]:
            (self.directory / MARK).unlink()
            with contextlib.suppress(OSError):
                self.directory.rmdir()

    # --- one bed ---

    def of(self, name: str) -> Path:
        return self.directory / name

    def record(self, name: str) -> dict | None:
        try:
            return json.loads((self.of(name) / "bed.json").read_text())
        except FileNotFoundError:
            return {"complete": False} if self.of(name).is_dir() else None
        except ValueError:
            return {"complete": False}

    def write_record(self, name: str, record: dict) -> None:
        new = self.of(name) / "bed.json.new"
        new.write_text(json.dumps(record, indent=1) + "\n")
        new.rename(self.of(name) / "bed.json")

    def begin(self, name: str, record: dict) -> Path:
        """An empty directory for the bed, with its incomplete record."""
        directory = self.of(name)
        for part in ("cells", "mnt", "log"):
            (directory / part).mkdir(parents=True)
        self.write_record(name, record)
        return directory

    def remove(self, name: str) -> None:
        """Only once nothing is mounted below: what lies on the far side of a mount is not ours to
        remove."""
        if mounted := mounted_below(self.of(name)):
            raise TestbedError(f"{mounted[0]} is still mounted")
        shutil.rmtree(self.of(name), ignore_errors=False)
