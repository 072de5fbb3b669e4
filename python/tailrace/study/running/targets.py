"""Where runs read and write: on each target a directory of the study's own, and in it one for each
run. Nothing else on a target is touched.
"""

import os
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import no_directory
from tailrace.study.definition.model import StudyDefinition, Target
from tailrace.study.running import leftovers, testbed


class Targets:
    """`directories`: where each target is, by name. `home` stands in where a study names no target.
    `mark` is the study's; `processes_mark` is what its processes have, of one block's where it is
    made beside others.
    """

    def __init__(
        self, directories: Mapping[str, Path], home: Path, mark: str, block: int | None = None
    ) -> None:
        self.directories, self.home, self.mark = directories, home, mark
        self.processes_mark = mark if block is None else leftovers.of_block(mark, block)

    def directory(self, name: str | None) -> Path:
        return self.home if name is None else self.directories[name]

    def workspace(self, name: str | None) -> Path:
        """The study's own directory on this target, made where it was not yet."""
        path = self.workspace_path(name)
        path.mkdir(exist_ok=True)
        return path

    def workspace_path(self, name: str | None) -> Path:
        return self.directory(name) / f"tailrace-study-{self.mark}"

    def check(self) -> None:
        """Whether every target is there and can be written, before anything runs. One that is not
        there is not made: a file system that is not mounted would become a directory of another.
        """
        for name, path in self.directories.items():
            if not path.is_dir():
                raise no_directory(path, f"--target {name}=DIRECTORY", f"target {name}: ")
            try:
                with tempfile.TemporaryFile(dir=path) as file:
                    file.write(b"\0" * 4096)
                    file.flush()
            except OSError as error:
                raise TailraceError(
                    f"target {name}: {printable(str(path))} cannot be written: {error.strerror}",
                    f"choose another with --target {name}=DIRECTORY",
                ) from None

    def clear_runs(self, numbers: Collection[int] | None = None) -> None:
        """Removes what runs have left that did not come to their end: all, or those with these
        numbers. Prepared inputs stay.
        """
        for path in self._workspaces():
            whole = [*path.glob("run-*"), *path.glob(".*.partial")] if numbers is None else []
            for left in [*whole, *(path / run_name(number) for number in numbers or ())]:
                shutil.rmtree(left, ignore_errors=True)

    def remove(self) -> None:
        for path in self._workspaces():
            shutil.rmtree(path, ignore_errors=True)

    def _workspaces(self) -> list[Path]:
        places = dict.fromkeys([*self.directories.values(), self.home])
        paths = [place / f"tailrace-study-{self.mark}" for place in places]
        return [path for path in paths if path.is_dir()]


def run_name(number: int) -> str:
    """Of a run's directory in the workspace."""
    return f"run-{number:06}"


def find(
    study: StudyDefinition,
    given: Mapping[str, str],
    home: Path,
    mark: str,
    base: Path,
    block: int | None = None,
) -> Targets:
    """`given`: what --target says. A relative directory in the file is relative to `base`."""
    for name in given:
        if name not in study.target:
            known = ", ".join(study.target) or "none"
            raise TailraceError(
                f"--target {printable(name)}: {study.name} has no such target",
                f"its targets are {known}",
            )
    directories = {
        name: Path(given[name]).absolute() if name in given else _directory(name, target, base)
        for name, target in study.target.items()
        if name in given or target.simulate is None
    }
    return Targets(directories, home, mark, block)


def _directory(name: str, target: Target, base: Path) -> Path:
    if target.directory is not None:
        return base / os.path.expandvars(Path(target.directory).expanduser())
    if target.testbed is not None:
        return _on_testbed(name, target.testbed)
    raise TailraceError(
        f"target {name} has no directory", f"choose one with --target {name}=DIRECTORY"
    )


def _on_testbed(name: str, bed: str) -> Path:
    """Where the test bed, which stands beside Tailrace in its repository, has mounted it."""
    if not testbed.COMMAND.is_file():
        raise TailraceError(
            f"target {name} is on the test bed ({bed}), which is in Tailrace's repository and not"
            " where Tailrace is installed",
            f"give its directory with --target {name}=DIRECTORY (`testbed/testbed status` in the"
            " repository says where it is mounted), or start the study with the repository's own"
            " Tailrace",
        )
    try:
        return testbed.mount_of(bed)
    except FileNotFoundError:
        raise TailraceError(
            f"target {name} is on the test bed, whose {bed} is not up",
            f"{printable(str(testbed.COMMAND))} up {bed} brings it up; or choose a directory with"
            f" --target {name}=DIRECTORY",
        ) from None
