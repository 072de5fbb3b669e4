"""Where a study took place: what a reader needs to judge its times, or to repeat it."""

import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tailrace.bench import launcher, surroundings
from tailrace.capture.launch import executable
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import SCHEMA
from tailrace.study.definition.model import StudyDefinition
from tailrace.study.running import testbed
from tailrace.study.running.models import loaded
from tailrace.study.running.targets import Targets

PACKAGES = ("tailrace", "h5py", "netCDF4", "numpy", "pandas", "pyarrow", "scipy")
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
# Of the environment, what steers MPI, its MPI-IO and the threads.
STEERING = (
    "OMPI_",
    "PMIX_",
    "PRTE_",
    "MPICH_",
    "HYDRA_",
    "ROMIO_",
    "UCX_",
    "FI_",
    "I_MPI_",
    "OMP_",
    "SLURM_",
    "HDF5_",
)


def describe(
    study: StudyDefinition,
    targets: Targets,
    started_in: Path,
    program: Path | None,
    models: Mapping[str, Path],
) -> dict[str, Any]:
    """The object of docs/schema/study-environment.json. `program`: whose libraries are told, of a
    workload. `models`: on which targets are simulated."""
    return {
        "schema": SCHEMA,
        "written_unix_s": time.time(),
        "host": platform.node(),
        "kernel": f"{platform.system()} {platform.release()}",
        "distribution": _distribution(),
        "processor": surroundings.processor(),
        "cores": launcher.cores(),
        "frequency_governor": _read(GOVERNOR),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_average": list(os.getloadavg()),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "mpi": _mpi(study),
        "libraries": surroundings.linked(program) if program is not None else {},
        "variables": {
            name: printable(value)
            for name, value in sorted(os.environ.items())
            if name.startswith(STEERING)
        },
        "targets": {name: _target(study, name, path) for name, path in targets.directories.items()},
        "simulated": {
            name: {"model": model.name, "source": model.source}
            for name, model in loaded(models).items()
        },
        "home": surroundings.file_system(targets.home),
        "git": git_state(started_in),
        "started_with": [printable(word) for word in sys.argv],
    }


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _mpi(study: StudyDefinition) -> dict[str, Any]:
    """The launcher, and what it says of its version."""
    if study.run.launcher == "none":
        return {"launcher": [], "family": "", "soname": "", "mpicc": "", "said": ""}
    words = shlex.split(study.run.launcher)
    answer = {
        "launcher": words,
        "family": "",
        "soname": "",
        "mpicc": "",
        "said": _first_line([words[0], "--version"]),
    }
    try:
        found = launcher.find(study.run.launcher)
    except TailraceError:  # a command needs no compiler
        return answer | {"launcher": [str(executable(words[0]) or words[0]), *words[1:]]}
    mpi = found.mpi
    return answer | {
        "launcher": [printable(word) for word in found.words],
        "family": mpi.family,
        "soname": mpi.soname,
        "mpicc": printable(str(mpi.mpicc)),
    }


def _first_line(words: list[str]) -> str:
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return printable(next((line.strip() for line in done.stdout.splitlines() if line.strip()), ""))


def _target(study: StudyDefinition, name: str, path: Path) -> dict[str, Any]:
    target = study.target[name]
    known: Mapping[str, Any] = target.model_dump(exclude_none=True)
    answer = surroundings.file_system(path) | {
        "known": {key: value for key, value in known.items() if value != ""}
    }
    return answer | {"bed": testbed.in_use(target, path)}


def git_state(directory: Path) -> dict[str, Any] | None:
    """The commit that this directory is at and whether it was changed since; None where it is no
    checkout."""
    commit = _first_line(["git", "-C", str(directory), "rev-parse", "HEAD"])
    if not commit:
        return None
    changed = _first_line(
        ["git", "-C", str(directory), "status", "--porcelain", "--untracked-files=no"]
    )
    branch = _first_line(["git", "-C", str(directory), "rev-parse", "--abbrev-ref", "HEAD"])
    return {"commit": commit, "branch": branch, "changed": bool(changed)}
