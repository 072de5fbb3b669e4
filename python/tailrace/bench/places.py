"""Where a run's files go: directories of its own below --dir and --read-dir. The user's own files
are not touched."""

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import no_directory

NOTES = ("plan", "records", "output")


@dataclass(frozen=True)
class Places:
    """`scratch` holds the plans, the records and what the programs say; it is on this machine's own
    disk."""

    output: Path
    input: Path
    scratch: Path
    keep: bool

    @classmethod
    def make(
        cls, workload: str, directory: Path, read_directory: Path | None, keep: bool
    ) -> "Places":
        output = _own(directory, f"tailrace-{workload}-", "--dir")
        read = (
            output
            if read_directory is None
            else _own(read_directory, f"tailrace-{workload}-", "--read-dir")
        )
        return cls(output, read / "input", Path(tempfile.mkdtemp(prefix="tailrace-bench-")), keep)

    def for_run(self, name: str) -> tuple[Path, Path]:
        """The directory of one run's files, and that of its notes."""
        files, notes = self.output / name, self.scratch / name
        files.mkdir()
        notes.mkdir()
        return files, notes

    def close_run(self, name: str) -> None:
        """What a run wrote goes when it is verified, so that the next one finds the room; --keep
        keeps it."""
        if self.keep:
            for note in NOTES:
                with suppress(OSError):
                    shutil.copyfile(self.scratch / name / note, self.output / name / note)
        else:
            shutil.rmtree(self.output / name, ignore_errors=True)

    def remove(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)
        for folder in () if self.keep else (self.output, self.input.parent):
            shutil.rmtree(folder, ignore_errors=True)


def _own(parent: Path, prefix: str, option: str) -> Path:
    """Its parent is not created: a file system that is not mounted would become a directory of
    another."""
    if not parent.is_dir():
        raise no_directory(parent, option)
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=parent.absolute()))
    except OSError as error:
        raise TailraceError(
            f"{printable(str(parent))} cannot be written: {error.strerror}",
            f"choose another directory with {option}",
        ) from None
