"""The kernels, compiled by CMake for the MPI in use and kept in the cache, per source, compiler and libraries found.

kernels/HASH/bin/…          the programs
kernels/HASH/pairs.txt      the pairs of method and format that this build has, as it says itself
pairs/HASH                  the same, where doctor asked before the programs were needed
"""

import contextlib
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tailrace import capture_cache
from tailrace.bench import pairs
from tailrace.bench.workload import FORMATS, METHODS
from tailrace.errors import TailraceError
from tailrace.mpi import Installation
from tailrace.names import printable

# CMake's project around the kernels.
BUILD_SOURCES = Path(__file__).parent / "build_kernels"
Tell = Callable[[str], None]
BUILD_LOG, PAIRS, ASK_PAIRS = "build.log", "pairs.txt", "gridio-pairs"


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
    for folder in (Path(__file__).parent / "kernel_sources", Path(__file__).parents[3] / "kernels"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise TailraceError(
        "the sources of the kernels are not installed", "install Tailrace again: kernels/ is part of the package"
    )


@lru_cache(maxsize=1)
def _sources_hash() -> str:
    digest = hashlib.sha256()
    for folder in (sources(), BUILD_SOURCES):
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _key(mpi: Installation) -> str:
    """What a build depends on. The libraries: so that one that is installed later is found."""
    status = mpi.mpicc.stat()
    words = (_sources_hash(), os.uname().machine, str(mpi.mpicc), str(status.st_mtime_ns), mpi.soname, _libraries())
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:24]


@lru_cache(maxsize=1)
def _libraries() -> str:
    """pkg-config's modules for the formats, by which CMake finds them, with their versions."""
    try:
        done = subprocess.run(["pkg-config", "--list-all"], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    names = [line.split()[0] for line in done.stdout.splitlines() if re.match(r"\S*(hdf5|netcdf)", line)]
    asked = ["pkg-config", "--print-provides", *sorted(names)]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout if names else ""


def folder_for(mpi: Installation) -> Path:
    """Where the build for this MPI is, or will be."""
    return capture_cache.root() / "kernels" / _key(mpi)


def existing(mpi: Installation) -> Kernels | None:
    folder = folder_for(mpi)
    try:
        return Kernels(folder, _read_pairs((folder / PAIRS).read_text()))
    except OSError:
        return None


def prepare(mpi: Installation, pair: tuple[str, str], tell: Tell) -> Kernels:
    """The kernels with the pair of method and format that is wanted, built now where they were not yet."""
    found = existing(mpi) or build(mpi, tell)
    if pair not in found.pairs:
        raise TailraceError(*_absent(mpi, pair, found))
    return found


def _absent(mpi: Installation, pair: tuple[str, str], found: Kernels) -> tuple[str, str]:
    format_ = pair[1]
    library = pairs.LIBRARIES[format_]
    if format_ in found.formats or not library.packages:
        return f"this build of the kernels does not have the method {pair[0]} with the format {format_}", ""
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
        _cmake(mpi, scratch, "all")
        _run(["cmake", "--install", str(scratch / "build"), "--prefix", str(installed)], scratch / BUILD_LOG)
        text = _ask_pairs(installed / "bin" / ASK_PAIRS)
        (installed / PAIRS).write_text(text)
        with contextlib.suppress(OSError):  # another run was quicker
            installed.rename(target)
    return Kernels(target, _read_pairs(text))


def pairs_of(mpi: Installation, tell: Tell) -> frozenset[tuple[str, str]]:
    """The pairs that a build for this MPI has or would have: only gridio is compiled for that."""
    if (found := existing(mpi)) is not None:
        return found.pairs
    note = capture_cache.root() / "pairs" / _key(mpi)
    with contextlib.suppress(OSError):
        return _read_pairs(note.read_text())
    tell(f"compiling gridio for {mpi.family} ({printable(str(mpi.mpicc))}) to see what it can do, this once")
    with _scratch(note.parent) as scratch:
        _cmake(mpi, scratch, ASK_PAIRS)
        text = _ask_pairs(scratch / "build" / ASK_PAIRS)
        (scratch / PAIRS).write_text(text)
        (scratch / PAIRS).replace(note)
    return _read_pairs(text)


def _cmake(mpi: Installation, scratch: Path, target: str) -> None:
    build_folder, log = scratch / "build", scratch / BUILD_LOG
    _run(_configure(mpi, build_folder), log)
    _run(["cmake", "--build", str(build_folder), "--target", target, "--parallel", str(_jobs())], log)


def _jobs() -> int:
    return len(os.sched_getaffinity(0))


def _configure(mpi: Installation, build: Path) -> list[str]:
    if shutil.which("cmake") is None:
        raise TailraceError("there is no cmake, which builds the kernels", "pip install cmake ninja")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    return [
        "cmake",
        *("-S", str(BUILD_SOURCES)),
        *("-B", str(build)),
        *generator,
        f"-DKERNELS={sources().resolve()}",
        f"-DCMAKE_C_COMPILER={mpi.mpicc}",
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
    kept = capture_cache.root() / f"kernels-{BUILD_LOG}"
    shutil.copyfile(log, kept)
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if "error" in line.lower()]
    reason = printable(lines[0].strip()) if lines else f"cmake ended with status {status}"
    raise TailraceError(f"the kernels could not be built: {reason}", f"{printable(str(kept))} holds all that was said")


def _ask_pairs(program: Path) -> str:
    words = [word for pair in itertools.product(METHODS, FORMATS) for word in pair]
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TailraceError(f"the kernels were built and do not start: {printable(done.stderr.strip()[:300])}")
    return done.stdout


def _read_pairs(text: str) -> frozenset[tuple[str, str]]:
    words = (line.split() for line in text.splitlines())
    return frozenset((line[1], line[2]) for line in words if len(line) == 3 and line[0] == "pair")


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
