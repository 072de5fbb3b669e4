"""The kernels, compiled by CMake for the MPI in use and kept in the cache per source, compiler and libraries.

    kernels/HASH/bin/…          the programs
    kernels/HASH/pairs.txt      the pairs of method and format that this build has, as it says itself

A build without a format whose library was installed since is made again, when that format is asked for.
"""

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tailrace import capture_cache
from tailrace.bench import pairs
from tailrace.errors import TailraceError
from tailrace.mpi import Installation
from tailrace.names import printable

Tell = Callable[[str], None]
BUILD_LOG, PAIRS = "build.log", "pairs.txt"


@dataclass(frozen=True)
class Kernels:
    """One build, and the pairs of method and format that it has."""

    folder: Path
    pairs: frozenset[tuple[str, str]]

    @property
    def formats(self) -> frozenset[str]:
        return frozenset(format_ for _, format_ in self.pairs)

    def program(self, name: str) -> Path:
        return self.folder / "bin" / name


def sources() -> Path:
    """The folder `kernels/`: beside this package when installed, else in the checkout."""
    for folder in (Path(__file__).parent / "kernels", Path(__file__).parents[3] / "kernels"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise TailraceError(
        "the sources of the kernels are not installed", "install Tailrace again: kernels/ is part of the package"
    )


@lru_cache(maxsize=1)
def _sources_hash() -> str:
    digest = hashlib.sha256()
    for file in sorted(file for file in sources().rglob("*") if file.is_file()):
        digest.update(str(file.relative_to(sources())).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def folder_for(mpi: Installation) -> Path:
    """Where the build for this MPI is, or will be."""
    status = mpi.mpicc.stat()
    words = (_sources_hash(), os.uname().machine, str(mpi.mpicc), str(status.st_mtime_ns), mpi.soname)
    return capture_cache.root() / "kernels" / hashlib.sha256("\0".join(words).encode()).hexdigest()[:24]


def existing(mpi: Installation) -> Kernels | None:
    folder = folder_for(mpi)
    try:
        return Kernels(folder, _read_pairs((folder / PAIRS).read_text()))
    except OSError:
        return None


def prepare(mpi: Installation, pair: tuple[str, str], tell: Tell) -> Kernels:
    """The kernels with the pair of method and format that is wanted, built now where they were not yet."""
    found = existing(mpi)
    if found is None or pair not in found.pairs:
        found = build(mpi, tell)
    if pair not in found.pairs:
        raise TailraceError(*_absent(mpi, pair[1], found))
    return found


def _absent(mpi: Installation, format_: str, found: Kernels) -> tuple[str, str]:
    library = pairs.LIBRARIES[format_]
    text = (
        f"the format {format_} cannot be built with {printable(str(mpi.mpicc))}; "
        f"there are {', '.join(sorted(found.formats))}"
    )
    return text, f"apt-get install {library.packages} (for Debian's Open MPI); `tailrace doctor` shows all pairs"


def build(mpi: Installation, tell: Tell) -> Kernels:
    target = folder_for(mpi)
    tell(f"compiling the kernels for {mpi.family} ({printable(str(mpi.mpicc))}), this once")
    with _scratch(target.parent) as scratch:
        installed = scratch / "installed"
        _run(_configure(mpi, scratch / "build", installed), scratch / BUILD_LOG)
        _run(["cmake", "--build", str(scratch / "build"), "--parallel", str(_jobs())], scratch / BUILD_LOG)
        _run(["cmake", "--install", str(scratch / "build")], scratch / BUILD_LOG)
        text = _ask_pairs(installed)
        (installed / PAIRS).write_text(text)
        _replace(installed, target)
    return Kernels(target, _read_pairs(text))


def _jobs() -> int:
    return len(os.sched_getaffinity(0))


def _configure(mpi: Installation, build: Path, prefix: Path) -> list[str]:
    if shutil.which("cmake") is None:
        raise TailraceError("there is no cmake, which builds the kernels", "pip install cmake ninja")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    return [
        "cmake",
        *("-S", str(Path(__file__).parent / "build_kernels")),
        *("-B", str(build)),
        *generator,
        f"-DKERNELS={sources().resolve()}",
        f"-DCMAKE_C_COMPILER={mpi.mpicc}",
        f"-DCMAKE_INSTALL_PREFIX={prefix}",
        "-DCMAKE_BUILD_TYPE=Release",
        # The programs find the MPI that they were linked with, wherever it lies.
        "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON",
    ]


def _run(command: list[str], log: Path) -> None:
    """Runs one part of the build; what it says goes to the log, whose first error is told."""
    with log.open("ab") as output:
        status = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode
    if status == 0:
        return
    kept = capture_cache.root() / BUILD_LOG
    shutil.copyfile(log, kept)
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if "error" in line.lower()]
    reason = printable(lines[0].strip()) if lines else f"cmake ended with status {status}"
    raise TailraceError(f"the kernels could not be built: {reason}", f"{printable(str(kept))} holds all that was said")


def _ask_pairs(installed: Path) -> str:
    done = subprocess.run([installed / "bin" / "gridio-pairs"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TailraceError(f"the kernels were built and do not start: {printable(done.stderr.strip()[:300])}")
    return done.stdout


def _read_pairs(text: str) -> frozenset[tuple[str, str]]:
    words = (line.split() for line in text.splitlines())
    return frozenset((line[1], line[2]) for line in words if len(line) == 3 and line[0] == "pair")


def _replace(made: Path, target: Path) -> None:
    """An older build (without a format that there is now) gives way; another run's that is as new stays."""
    with contextlib.suppress(OSError):
        shutil.rmtree(target)
    with contextlib.suppress(OSError):
        made.rename(target)


@contextlib.contextmanager
def _scratch(beside: Path) -> Iterator[Path]:
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=beside) as folder:
            yield Path(folder)
    except OSError as error:
        raise TailraceError(
            f"{printable(str(beside))} cannot be written: {error.strerror}",
            "name another directory in the variable TAILRACE_CACHE",
        ) from None
