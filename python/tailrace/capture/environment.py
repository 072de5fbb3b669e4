"""What a run under capture needs in its environment, and where its files go."""

import os
from pathlib import Path
from typing import NamedTuple

from tailrace.capture import libraries
from tailrace.capture.launch import (
    Launch,
    recorded_program,
    runs_on_this_kind,
    spans_nodes,
    words_of_launcher,
)
from tailrace.engine import ReplayOptions
from tailrace.terminal import tell

OPEN_MPI_LIST = "OMPI_MCA_mca_base_env_list"


class CaptureOptions(NamedTuple):
    directory: Path | None = None
    processes: str = "ranks"
    counters: bool = False
    report: bool = True
    raw_dir: Path | None = None
    strict: bool = False
    label: str = ""
    replay: ReplayOptions = ReplayOptions()


class Place(NamedTuple):
    """Where this run's files go."""

    directory: Path
    raw: Path
    trace: Path
    # Of the run's directories on the nodes; empty where ranks write to `raw` itself.
    on_nodes: str = ""


def capture_environment(
    command: list[str], launch: Launch, options: CaptureOptions, place: Place, prepared: Path
) -> dict[str, str]:
    """The variables that capture reads, LD_PRELOAD, and what makes Open MPI send them to other
    nodes. The loader would complain about a library that the program cannot load; of programs that
    are started later capture itself sees to that."""
    core = str(prepared / libraries.CORE) if runs_on_this_kind(command[0]) else ""
    preload = ":".join(filter(None, (core, os.environ.get("LD_PRELOAD", ""))))
    variables = {
        **({"LD_PRELOAD": preload} if preload else {}),
        "TAILRACE_RAW": str(place.raw),
        "TAILRACE_LIBRARIES": str(prepared),
        "ASAN_OPTIONS": _with_other_libraries_first(os.environ.get("ASAN_OPTIONS", "")),
    }
    if (program := recorded_program(launch)) is not None:
        variables["TAILRACE_PROGRAM"] = str(program)
    if launch.launcher is None:  # the command may become another program
        variables["TAILRACE_PARENT"] = str(os.getpid())
    if options.processes == "all":
        variables["TAILRACE_PROCESSES"] = "all"
    if place.on_nodes:
        variables["TAILRACE_NODE"] = place.on_nodes
    if options.label:
        variables["TAILRACE_LABEL"] = options.label
    if options.counters:
        variables["TAILRACE_COUNTERS"] = "1"
    if _reaches_all_ranks(command, launch):
        variables["TAILRACE_CLOCK_ALIGNMENT"] = "auto"
    return variables | _forwarding(command, launch, list(variables))


def _with_other_libraries_first(options: str) -> str:
    """AddressSanitizer's runtime refuses to start where another library precedes it, as every
    preloaded one does. It need not come first: only what it intercepts after it matters, and
    capture's functions call its own."""
    return ":".join(filter(None, (options, "verify_asan_link_order=0")))


def _reaches_all_ranks(command: list[str], launch: Launch) -> bool:
    """Whether every rank surely is under capture: only then may the nodes' clocks be compared by
    messages.

    With several programs (`:`) one may not be; with -x it is the user who says what other nodes
    get.
    """
    several = launch.launcher is not None and spans_nodes(command)
    return several and not {":", "-x"} & words_of_launcher(command)


def _forwarding(command: list[str], launch: Launch, names: list[str]) -> dict[str, str]:
    """MPICH's and Slurm's launchers pass the environment on; Open MPI's passes on to other nodes
    what it is told to.

    Its list and its option -x exclude each other: then a message says what to add.
    """
    if launch.launcher is None or not spans_nodes(command):
        return {}
    if "-x" in words_of_launcher(command):
        tell(
            "if ranks run on other nodes, add to mpiexec: "
            + " ".join(f"-x {name}" for name in names)
        )
        return {}
    earlier = os.environ.get(OPEN_MPI_LIST)
    # Capture fills it in where the launcher starts; Open MPI asks for a name that is there.
    names = [*names, "TAILRACE_LAUNCH"]
    return {
        OPEN_MPI_LIST: ";".join(([earlier] if earlier else []) + names),
        "TAILRACE_LAUNCH": "",
    }
