"""The kernels, compiled by CMake for the MPI in use and kept in the cache, per source, compiler and
libraries found.

kernels/HASH/bin/…          the programs
kernels/HASH/gridio.json    what gridio in this build has, as `gridio-info` prints it
gridio/HASH                 the same, where doctor asked before the programs were needed
"""

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tailrace import cache
from tailrace.bench import gridio
from tailrace.bench.launcher import cores
from tailrace.capture.mpi import Installation
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.terminal import Tell

BUILD_LOG, INFO, ASK = "build.log", "gridio.json", "gridio-info"


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
        "the sources of the kernels are not installed",
        "install Tailrace again: kernels/ is part of the package",
    )


@lru_cache(maxsize=1)
def _sources_hash() -> str:
    digest = hashlib.sha256()
    folder = sources()
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _key(mpi: Installation) -> str:
    """What a build depends on. The libraries: so that one that is installed later is found."""
    status = mpi.mpicc.stat()
    words = (
        _sources_hash(),
        os.uname().machine,
        str(mpi.mpicc),
        str(status.st_mtime_ns),
        mpi.soname,
        _libraries(),
    )
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:24]


@lru_cache(maxsize=1)
def _libraries() -> str:
    """pkg-config's modules for the formats, by which CMake finds them, with their versions."""
    try:
        done = subprocess.run(
            ["pkg-config", "--list-all"], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    names = [
        line.split()[0] for line in done.stdout.splitlines() if re.match(r"\S*(hdf5|netcdf)", line)
    ]
    asked = ["pkg-config", "--print-provides", *sorted(names)]
    return (
        subprocess.run(asked, capture_output=True, text=True, check=False).stdout if names else ""
    )


def folder_for(mpi: Installation) -> Path:
    """Where the build for this MPI is, or will be."""
    return cache.root() / "kernels" / _key(mpi)


def existing(mpi: Installation) -> Kernels | None:
    folder = folder_for(mpi)
    try:
        return Kernels(folder, gridio.pairs_of((folder / INFO).read_text()))
    except OSError:
        return None


def prepare(mpi: Installation, pair: tuple[str, str], tell: Tell) -> Kernels:
    """The kernels with the pair of method and format that is wanted, built now where they were not
    yet."""
    found = existing(mpi) or build(mpi, tell)
    if pair not in found.pairs:
        raise TailraceError(*_absent(mpi, pair, found))
    return found


def _absent(mpi: Installation, pair: tuple[str, str], found: Kernels) -> tuple[str, str]:
    format_ = pair[1]
    packages = gridio.packages(format_)
    if format_ in found.formats or not packages:
        return (
            f"this build of the kernels has no method {pair[0]} with the format {format_}",
            "",
        )
    text = (
        f"the format {format_} cannot be built with {printable(str(mpi.mpicc))}; "
        f"available are {', '.join(sorted(found.formats))}"
    )
    return (
        text,
        f"apt-get install {' '.join(packages)} (for Debian's Open MPI);"
        " `tailrace doctor` shows all pairs",
    )


def build(mpi: Installation, tell: Tell) -> Kernels:
    target = folder_for(mpi)
    compiler = f"{mpi.family} ({printable(str(mpi.mpicc))})"
    tell(f"compiling the kernels for {compiler}, on first use only")
    with _scratch(cache.folder("kernels")) as scratch:
        installed = scratch / "installed"
        _cmake(mpi, scratch, "all")
        _run(
            ["cmake", "--install", str(scratch / "build"), "--prefix", str(installed)],
            scratch / BUILD_LOG,
        )
        text = _ask(installed / "bin" / ASK)
        (installed / INFO).write_text(text)
        with contextlib.suppress(OSError):  # another run was quicker
            installed.rename(target)
    return Kernels(target, gridio.pairs_of(text))


def pairs_of(mpi: Installation, tell: Tell) -> frozenset[tuple[str, str]]:
    """The pairs that a build for this MPI has or would have: only gridio is compiled for that."""
    if (found := existing(mpi)) is not None:
        return found.pairs
    note = cache.root() / "gridio" / _key(mpi)
    with contextlib.suppress(OSError):
        return gridio.pairs_of(note.read_text())
    compiler = f"{mpi.family} ({printable(str(mpi.mpicc))})"
    tell(f"compiling gridio for {compiler} to see what it supports, on first use only")
    with _scratch(cache.folder("gridio")) as scratch:
        _cmake(mpi, scratch, ASK)
        text = _ask(scratch / "build" / ASK)
        (scratch / INFO).write_text(text)
        (scratch / INFO).replace(note)
    return gridio.pairs_of(text)


def _cmake(mpi: Installation, scratch: Path, target: str) -> None:
    build_folder, log = scratch / "build", scratch / BUILD_LOG
    _run(_configure(mpi, build_folder), log)
    _run(
        ["cmake", "--build", str(build_folder), "--target", target, "--parallel", str(cores())], log
    )


def _configure(mpi: Installation, build: Path) -> list[str]:
    if shutil.which("cmake") is None:
        raise TailraceError(
            "there is no cmake, which builds the kernels", "pip install cmake ninja"
        )
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    return [
        "cmake",
        *("-S", str(sources().resolve())),
        *("-B", str(build)),
        *generator,
        f"-DCMAKE_C_COMPILER={mpi.mpicc}",
        "-DCMAKE_BUILD_TYPE=Release",
        # The programs find the MPI that they were linked with, wherever it lies.
        "-DCMAKE_INSTALL_RPATH_USE_LINK_PATH=ON",
    ]


def _run(command: list[str], log: Path) -> None:
    """Runs one part of the build; what it says goes to the log, whose first error is reported."""
    with log.open("ab") as output:
        status = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        ).returncode
    if status == 0:
        return
    kept = cache.root() / f"kernels-{BUILD_LOG}"
    shutil.copyfile(log, kept)
    lines = [
        line for line in log.read_text("utf-8", "replace").splitlines() if "error" in line.lower()
    ]
    reason = printable(lines[0].strip()) if lines else f"cmake ended with status {status}"
    raise TailraceError(
        f"the kernels could not be built: {reason}",
        f"the whole log is {printable(str(kept))}",
    )


def _ask(program: Path) -> str:
    """What gridio in this build has."""
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise TailraceError(
            f"the kernels were built but do not start: {printable(done.stderr.strip()[:300])}"
        )
    return done.stdout


@contextlib.contextmanager
def _scratch(beside: Path) -> Iterator[Path]:
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".making-", dir=beside) as folder:
            yield Path(folder)
    except OSError as error:
        raise TailraceError(
            f"{printable(str(beside))} cannot be written: {error.strerror}",
            "set TAILRACE_CACHE to another directory",
        ) from None
