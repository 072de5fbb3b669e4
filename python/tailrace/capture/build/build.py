"""Compiles capture on the user's machine: libtailrace.so, and one flavour library per MPI.

Nothing is launched but compilers; no MPI is linked.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import header, trampolines, wrappers
from .failures import BuildError

_FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing"]
# The wrappers define what fortified headers would inline, and both variants of the large-file
# names.
_CORE_FLAGS = ["-DTAILRACE_CORE", "-U_FORTIFY_SOURCE", "-U_FILE_OFFSET_BITS"]
# Of capture/mpi: what needs no MPI and stands in the core.
_CORE_SOURCES = ("bind.c", "objects.c", "resolve.c")
_FLAVOUR_FLAGS = [
    "-Wno-deprecated-declarations",
    "-Wno-maybe-uninitialized",
    "-Wno-cast-function-type",
]
# Two thousand wrappers: they compile in two thirds of the time, and calls take as long as with -O2.
_GENERATED_FLAGS = ("-O1",)

# What not every mpi.h declares, and the macro that says so.
_OPTIONAL = {"SESSIONS": "MPI_Session_init", "F2C": "MPI_Comm_f2c"}


def sources() -> Path:
    """The folder ``capture/``: beside this package when installed, else in the checkout."""
    for folder in (Path(__file__).parent / "sources", Path(__file__).parents[4] / "capture"):
        if (folder / "record.h").is_file():
            return folder
    raise BuildError(
        "the sources of capture are not installed",
        "install Tailrace again: its folder capture/ is part of the package",
    )


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, text=True, capture_output=True, check=False)
    except OSError as error:
        raise BuildError(
            f"{command[0]} cannot be started: {error.strerror}",
            "install a C compiler (Debian: apt install gcc libc6-dev)",
        ) from None
    if done.returncode != 0:
        lines = (
            [line for line in done.stderr.splitlines() if "error:" in line]
            or done.stderr.splitlines()
            or ["no reason given"]
        )
        raise BuildError(
            f"{command[0]} could not compile capture: {lines[0]}",
            f"the command was: {shlex.join(command)}",
        )
    return done.stdout


def build_core(output: Path, compiler: str = "cc", extra: tuple[str, ...] = ()) -> None:
    """Compiles ``libtailrace.so`` to ``output``. Raises BuildError."""
    folder = sources()
    with tempfile.TemporaryDirectory() as scratch:
        assembly = Path(scratch, "trampolines.S")
        assembly.write_text(trampolines.source())
        files = [*folder.glob("*.c"), *(folder / "mpi" / name for name in _CORE_SOURCES), assembly]
        flags = [*_FLAGS, *_CORE_FLAGS, *extra, f"-I{folder / 'mpi'}"]
        versions = f"-Wl,--version-script={folder / 'versions.map'}"
        linked = ["-Wl,-z,now", "-Wl,-Bsymbolic-functions", versions]
        _library([compiler, *flags], dict.fromkeys(files, ()), linked, output)


def _library(
    command: list[str], files: dict[Path, tuple[str, ...]], linked: list[str], output: Path
) -> None:
    """Compiles the files, each with options of its own, as many at once as there are cores, the
    largest first, and links them to ``output``."""
    together = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(together) as pool:
        objects = {file: str(Path(scratch, f"{file.stem}.o")) for file in files}
        jobs = [
            pool.submit(_run, [*command, *files[file], "-c", "-o", objects[file], str(file)])
            for file in sorted(files, key=lambda file: -file.stat().st_size)
        ]
        try:
            for job in jobs:
                job.result()
        finally:
            pool.shutdown(cancel_futures=True)
        any_libc = _any_libc(command[0], Path(scratch))
        linked = [*objects.values(), *linked, *any_libc]
        _run([*command, "-shared", "-o", f"{output}.new", *linked])
    Path(f"{output}.new").replace(output)


def _any_libc(compiler: str, scratch: Path) -> list[str]:
    """Options that link with an empty library in place of the C library: a program in a container
    may have an older one, whose loader ends it where a version of a function is missing. So none is
    asked for, and what not every C library has is a weak reference (capture/glibc.h)."""
    empty = scratch / "empty.c"
    empty.touch()
    soname = "-Wl,-soname,libc.so.6"
    _run([compiler, "-shared", "-nostdlib", soname, "-o", str(scratch / "libc.so"), str(empty)])
    return [f"-L{scratch}", "-Wl,--no-as-needed"]


def mpi_compile_flags(mpicc: str) -> tuple[str, list[str]]:
    """The compiler behind ``mpicc`` and the flags that find its mpi.h, without those that link."""
    words = shlex.split(_show(mpicc))
    flags, rest = [], iter(words[1:])
    for word in rest:
        if word in ("-I", "-isystem", "-D"):
            flags += [word, next(rest, "")]
        elif word.startswith(("-I", "-D", "-m", "-isystem")):
            flags.append(word)
    return words[0], flags


def _show(mpicc: str) -> str:
    for option in ("-show", "-showme"):
        try:
            done = subprocess.run([mpicc, option], text=True, capture_output=True, check=False)
        except OSError as error:
            raise BuildError(
                f"{mpicc} cannot be started: {error.strerror}",
                "name the mpicc of the program's MPI",
            ) from None
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout
    raise BuildError(
        f"{mpicc} does not say how it compiles (-show)", "name the mpicc of the program's MPI"
    )


def build_flavour(mpicc: str, output: Path) -> None:
    """Compiles the flavour library for the MPI of ``mpicc`` to ``output``. Raises BuildError."""
    compiler, flags = mpi_compile_flags(mpicc)
    if shutil.which(compiler) is None:
        raise BuildError(
            f"{mpicc} compiles with {compiler}, which is not there",
            f"install {compiler}, or set the compiler of {mpicc}",
        )
    prototypes = header.parse(header.preprocess([compiler, *flags]))
    if "MPI_Init" not in prototypes:
        raise BuildError(
            f"the mpi.h of {mpicc} declares no MPI_Init that was understood",
            "report this MPI and its version",
        )
    folder = sources() / "mpi"
    has = [f"-DHAVE_{name}" for name, function in _OPTIONAL.items() if function in prototypes]
    with tempfile.TemporaryDirectory() as scratch:
        own = [file for file in folder.glob("*.c") if file.name not in _CORE_SOURCES]
        files: dict[Path, tuple[str, ...]] = dict.fromkeys(own, ())
        for number, text in enumerate(wrappers.sources(prototypes)):
            generated = Path(scratch, f"wrappers{number}.c")
            generated.write_text(text)
            files[generated] = _GENERATED_FLAGS
        options = [*flags, *_FLAGS, *_FLAVOUR_FLAGS, *has, f"-I{folder}"]
        _library([compiler, *options], files, [], output)


def soname(mpicc: str) -> str | None:
    """The soname of the library that programs of ``mpicc`` load, e.g. ``libmpi.so.12``; None where
    it cannot be told."""
    with tempfile.TemporaryDirectory() as scratch:
        program, binary = Path(scratch, "program.c"), Path(scratch, "program")
        program.write_text("#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n")
        try:
            done = subprocess.run(
                [mpicc, "-o", str(binary), str(program)],
                text=True,
                capture_output=True,
                check=False,
            )
        except OSError:
            return None
        return _needed_mpi(binary.read_bytes()) if done.returncode == 0 else None


def _needed_mpi(binary: bytes) -> str | None:
    """NEEDED names stand in the dynamic string table; no other string of so small a program looks
    like them."""
    match = re.search(rb"\0(libmpi(?:ch|_abi|_cray|_gnu\w*)?\.so\.\d+)\0", binary)
    return match[1].decode() if match else None
