"""Where a run took place: host, processor, MPI and libraries, file systems, what was in the page
cache."""

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tailrace.bench.launcher import Launcher, cores
from tailrace.names import printable

READERS = ("h5py", "netCDF4", "numpy")
LIBRARIES = re.compile(r"lib(hdf5|netcdf|pnetcdf|cgns|mpi)\b")


def describe(
    program: Path,
    directory: Path,
    read_directory: Path,
    launcher: Launcher | None = None,
    ranks: int = 1,
) -> dict[str, Any]:
    """`launcher`: None for a program that runs without MPI."""
    return {
        "host": platform.node(),
        "kernel": f"{platform.system()} {platform.release()}",
        "processor": processor(),
        "cores": cores(),
        "mpi": launcher.mpi.family if launcher else "",
        "mpi_soname": launcher.mpi.soname if launcher else "",
        "mpi_io": launcher.mpi_io(ranks) if launcher else "",
        "mpicc": printable(str(launcher.mpi.mpicc)) if launcher else "",
        "mpiexec": [printable(word) for word in launcher.words] if launcher else [],
        "libraries": linked(program),
        "readers": {name: _version(name) for name in READERS},
        "directory": file_system(directory),
        "read_directory": file_system(read_directory),
    }


def processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def linked(program: Path) -> dict[str, str]:
    """The libraries of MPI and of the formats that the program loads: soname and file with its
    version in the name."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    pairs = (line.split(" => ") for line in done.stdout.splitlines() if " => " in line)
    return {
        name.strip(): printable(os.path.realpath(path.split(" (")[0]))
        for name, path in pairs
        if LIBRARIES.search(name)
    }


def file_system(directory: Path) -> dict[str, Any]:
    """The type and options of the mount that the directory lies on, from /proc/self/mountinfo."""
    real = os.path.realpath(directory)
    status = os.statvfs(real)
    answer = {"path": printable(str(directory)), "free_bytes": status.f_bavail * status.f_frsize}
    kind, options, source = _mount(real)
    return answer | {
        "file_system": kind,
        "mount_options": options,
        "mounted_from": printable(source),
    }


def _mount(path: str) -> tuple[str, str, str]:
    best, answer = "", ("unknown", "", "")
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return answer
    for line in lines:
        fields, _, rest = line.partition(" - ")
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields.split()[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            kind, source, *_ = rest.split()
            best, answer = point, (kind, fields.split()[5], source)
    return answer
