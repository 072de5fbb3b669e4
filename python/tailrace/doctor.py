"""`tailrace doctor`: what is here, what is missing, and the command that gets it. Launches nothing
but compilers."""

import ctypes
import errno
import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from tailrace import cache, extras
from tailrace.capture import libraries
from tailrace.capture.elf import MPI_FAMILIES
from tailrace.capture.mpi import Installation, installed
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import SCHEMA, print_json

# Works without: the extra, and what it is for.
EXTRAS = {
    "data": "data frames and plots in Python",
    "study": "tailrace study",
    "bench": "verifying what tailrace bench writes through HDF5 and netCDF",
}
# perf_event_open has no wrapper in libc; the number is the kernel's, per architecture.
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
PERF_ATTRIBUTE_BYTES, EXCLUDE_KERNEL_AND_HYPERVISOR = 128, 0b1100000


@dataclass(frozen=True)
class Check:
    """One thing that was looked for. `state`: "ok", "missing" (something will not work) or "note"
    (works without)."""

    topic: str
    state: str
    found: str
    command: str = ""


def main(as_json: bool) -> int:
    """Prints what was found; 1 where something that capture or the report needs is missing."""
    mpis = installed()
    kernels, pairs = _kernels()
    checks = [
        *_engine_checks(),
        *_compiler_checks(),
        *_mpi_checks(mpis),
        _counters(),
        _clock(),
        *_format_checks(),
    ]
    checks += kernels
    bad = any(check.state == "missing" for check in checks)
    if as_json:
        print_json(_answer(checks, mpis, pairs))
    else:
        _print(checks)
        click.echo(f"\n{_ready(checks, mpis)}")
    return int(bad)


def _ready(checks: list[Check], mpis: list[Installation]) -> str:
    """One line: whether programs can be recorded here, and with which MPI."""
    if missing := dict.fromkeys(check.topic for check in checks if check.state == "missing"):
        return f"not ready: {', '.join(missing)}; the commands above mend it"
    families = dict.fromkeys(mpi.family for mpi in mpis if mpi.soname in MPI_FAMILIES)
    if not families:
        return "ready: `tailrace run` records programs without MPI"
    *others, last = families
    programs = f"programs with {', '.join(others)}{' or ' if others else ''}{last}"
    return f"ready: `tailrace run` records {programs}"


def _answer(
    checks: list[Check], mpis: list[Installation], kernels: dict[str, object]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "ok": all(check.state != "missing" for check in checks),
        "tailrace": _version("tailrace"),
        "python": platform.python_version(),
        "checks": [
            {key: printable(value) for key, value in asdict(check).items()} for check in checks
        ],
        "mpi": [_mpi_record(mpi) for mpi in mpis],
        "kernels": kernels,
        "cache": printable(str(cache.root())),
    }


def _mpi_record(mpi: Installation) -> dict[str, Any]:
    return {
        "family": mpi.family,
        "soname": mpi.soname,
        "mpicc": printable(str(mpi.mpicc)),
        "mpiexec": printable(str(mpi.mpiexec)) if mpi.mpiexec else None,
        "understood": mpi.soname in MPI_FAMILIES,
        "capture": _capture_state(mpi),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _kernels() -> tuple[list[Check], dict[str, object]]:
    """What `tailrace bench` can do here. Its packages may be what is missing, which is reported
    above."""
    try:
        from tailrace.bench import doctor_pairs
    except ImportError as error:
        return [Check("bench", "missing", f"tailrace bench cannot run: {error}")], {}
    seen = doctor_pairs.look()
    return [Check(**vars(finding)) for finding in seen.findings], seen.answer


def _engine_checks() -> list[Check]:
    found = f"tailrace {_version('tailrace')} on Python {platform.python_version()}"
    checks = [Check("tailrace", "ok", found)]
    engine = importlib.util.find_spec("tailrace._engine") is not None
    checks.append(
        Check("engine", "ok", "compiled module found")
        if engine
        else Check(
            "engine",
            "missing",
            "the compiled engine is not installed",
            f"{sys.executable} -m pip install .",
        )
    )
    return [*checks, _packages_check(), *map(_extra_check, EXTRAS)]


def _packages_check() -> Check:
    """What everything needs."""
    packages = extras.packages()
    absent = [name for name in packages if _version(name) == "not installed"]
    if absent:
        command = f"{sys.executable} -m pip install {' '.join(absent)}"
        return Check("packages", "missing", f"without {', '.join(absent)}", command)
    return Check("packages", "ok", _versions(packages))


def _extra_check(extra: str) -> Check:
    packages = extras.packages(extra)
    absent = [name for name in packages if _version(name) == "not installed"]
    if absent:
        found = f"{EXTRAS[extra]}: needs {', '.join(absent)}"
        command = f"{sys.executable} -m pip install 'tailrace[{extra}]'"
        return Check("packages", "note", found, command)
    return Check("packages", "ok", f"{EXTRAS[extra]}: {_versions(packages)}")


def _versions(packages: list[str]) -> str:
    return ", ".join(f"{name} {_version(name)}" for name in packages)


def _compiler_checks() -> list[Check]:
    compiler = shutil.which(libraries.compiler())
    if compiler is None:
        return [
            Check(
                "C compiler",
                "missing",
                "not found: capture is compiled on first use",
                _install("gcc libc6-dev"),
            )
        ]
    try:
        built = libraries.is_built(libraries.core_object())
    except TailraceError as error:
        return [
            Check("C compiler", "ok", compiler),
            Check("capture", "missing", error.message, error.hint),
        ]
    state = "compiled" if built else "compiled on first use"
    return [
        Check("C compiler", "ok", compiler),
        Check("capture", "ok", f"{state}; cache {cache.root()}"),
    ]


def _mpi_checks(mpis: list[Installation]) -> list[Check]:
    checks = [_mpi_check(mpi) for mpi in mpis]
    if not mpis:
        text = "no mpicc found: programs without MPI can be captured, MPI programs cannot"
        checks.append(
            Check(
                "MPI",
                "note",
                text,
                f"{sys.executable} -m pip install mpich, or "
                f"{_install('openmpi-bin libopenmpi-dev')}",
            )
        )
    if (launcher := shutil.which("mpiexec")) and not any(mpi.mpiexec for mpi in mpis):
        text = f"{launcher} has no mpicc beside it, which capture is compiled with"
        checks.append(Check("MPI", "missing", text, _install("libopenmpi-dev")))
    return checks


def _mpi_check(mpi: Installation) -> Check:
    text = f"{mpi.family} ({mpi.soname}): {mpi.mpicc}"
    text += f", {mpi.mpiexec}" if mpi.mpiexec else ", no mpiexec beside it"
    if mpi.soname not in MPI_FAMILIES:
        return Check(
            "MPI", "note", f"{text}; this ABI is not understood: ranks run without capture"
        )
    return Check("MPI", "ok", f"{text}; capture {_capture_state(mpi)}")


def _capture_state(mpi: Installation) -> str:
    from tailrace.capture.build import BuildError

    try:
        return (
            "compiled"
            if libraries.is_built(libraries.flavour_object(mpi))
            else "compiled on first use"
        )
    except (BuildError, OSError, TailraceError) as error:
        return f"cannot be compiled: {error}"


def _counters() -> Check:
    """Tries what `tailrace run --counters` does: to count this thread's instructions."""
    level = _read("/proc/sys/kernel/perf_event_paranoid")
    refused = _try_counter()
    if refused is None:
        return Check(
            "hardware counters",
            "ok",
            "instructions and cycles can be counted (tailrace run --counters)",
        )
    if refused == errno.EACCES or refused == errno.EPERM:
        text = (
            f"the kernel does not allow them (perf_event_paranoid is {level or 'unknown'}); "
            "reports say so"
        )
        return Check("hardware counters", "note", text, "sudo sysctl kernel.perf_event_paranoid=2")
    return Check(
        "hardware counters",
        "note",
        "this machine has none, as many virtual ones; reports say so",
    )


def _try_counter() -> int | None:
    """The errno with which the kernel refuses, None where it counts."""
    number = PERF_EVENT_OPEN.get(os.uname().machine)
    if number is None:
        return errno.ENOSYS
    attribute = bytearray(PERF_ATTRIBUTE_BYTES)
    attribute[4:8] = PERF_ATTRIBUTE_BYTES.to_bytes(4, sys.byteorder)
    attribute[8:16] = (1).to_bytes(8, sys.byteorder)  # PERF_COUNT_HW_INSTRUCTIONS
    attribute[40:48] = EXCLUDE_KERNEL_AND_HYPERVISOR.to_bytes(8, sys.byteorder)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(
        number,
        (ctypes.c_char * len(attribute)).from_buffer(attribute),
        0,
        -1,
        -1,
        ctypes.c_ulong(0),
    )
    if descriptor < 0:
        return ctypes.get_errno()
    os.close(descriptor)
    return None


def _clock() -> Check:
    flags = _read("/proc/cpuinfo")
    if "constant_tsc" in flags and "nonstop_tsc" in flags:
        return Check("clock", "ok", "invariant time-stamp counter")
    return Check(
        "clock",
        "note",
        "no invariant time-stamp counter: clock_gettime is used, at about twice the cost per call",
    )


def _format_checks() -> list[Check]:
    return [Check("traces", "ok", "reads .tailrace, and Extrae's .prv and .prv.gz with their .pcf")]


def _read(path: str) -> str:
    try:
        return Path(path).read_text("ascii", "replace").strip()
    except OSError:
        return ""


def _install(packages: str) -> str:
    """The system's command to install Debian's packages; other systems' names differ, so those get
    the names only."""
    if shutil.which("apt-get"):
        return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install {packages}"
    return f"install what Debian calls {packages}"


def _print(checks: list[Check]) -> None:
    from rich.text import Text

    from tailrace.terminal import console

    out = console()
    styles = {"ok": "green", "missing": "red", "note": "yellow"}
    width = max(len(check.topic) for check in checks)
    for check in checks:
        line = Text(f"{check.state:>7}  ", style=styles[check.state])
        out.print(
            line.append(f"{check.topic:<{width}}  {printable(check.found)}", style="default"),
            soft_wrap=True,
        )
        if check.command:
            out.print(f"{'':{width + 11}}→ {check.command}", soft_wrap=True)
