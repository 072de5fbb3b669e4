"""`tailrace run`: the command with capture preloaded, then its trace, page and verdict. The program comes first:
whatever goes wrong here, it runs as it would have run without, and its exit status is returned.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace import capture_cache, store
from tailrace.errors import TailraceError
from tailrace.launch import Launch, read_command, recorded_program, spans_nodes
from tailrace.mpi import for_command
from tailrace.names import printable

NOT_FOUND, NOT_EXECUTABLE = 127, 126
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGINT)
# What the terminal itself sends to every process of its foreground group.
BY_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)

OPEN_MPI_LIST = "OMPI_MCA_mca_base_env_list"


@dataclass(frozen=True)
class Options:
    directory: Path | None = None
    processes: str = "ranks"
    counters: bool = False
    report: bool = True
    raw_dir: Path | None = None


@dataclass(frozen=True)
class Place:
    """Where this run's files go."""

    directory: Path
    raw: Path
    trace: Path


def tell(sentence: str) -> None:
    """One line on stderr; never fails, as stderr may be closed."""
    with contextlib.suppress(OSError, ValueError):
        print(f"tailrace: {sentence}", file=sys.stderr, flush=True)


def run_command(command: list[str], options: Options) -> int:
    """Runs the command under capture and returns its exit status; dies by the signal that ended it."""
    launch = read_command(command)
    with tempfile.TemporaryDirectory(prefix="tailrace-") as scratch:
        place, environment = _prepare(command, launch, options, Path(scratch))
        status = _execute(command, environment)
    if place is not None:
        with _never_harming("the trace could not be finished"):
            _finish(place, options)
    return _leave(status)


@contextlib.contextmanager
def _never_harming(what: str) -> Iterator[None]:
    """Trouble in Tailrace is told in a sentence and changes nothing for the program."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"{what}: stopped")
    except TailraceError as error:
        tell(f"{what}: {error}")
    except Exception as error:  # a fault of ours must not become the program's
        tell(f"{what}: {type(error).__name__}: {error}")


def _prepare(
    command: list[str], launch: Launch, options: Options, scratch: Path
) -> tuple[Place | None, dict[str, str]]:
    """Libraries, directory and environment; None and the environment as it is where capture cannot work."""
    plain = dict(os.environ)
    with _never_harming("capture does not work, the program runs without"):
        libraries = capture_cache.prepare(for_command(launch), tell)
        place = _make_place(launch, options)
        return place, plain | capture_environment(
            command, launch, options, place, capture_cache.preloadable(libraries, scratch)
        )
    return None, plain


def _make_place(launch: Launch, options: Options) -> Place:
    """Makes DIR and DIR/raw, readable by the owner only."""
    directory = (options.directory or _default_directory(launch)).absolute()
    trace = store.free_name(directory / f"{launch.name}{store.SUFFIX}")
    raw = options.raw_dir.absolute() / trace.stem if options.raw_dir else directory / store.RAW
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        raw = _fresh(raw)
    except OSError as error:
        raise TailraceError(
            f"{printable(str(error.filename or directory))} cannot be made: {error.strerror}",
            "choose another place with -o",
        ) from None
    return Place(directory, raw, trace)


def _default_directory(launch: Launch) -> Path:
    return store.free_name(Path(f"tailrace-{launch.name}-{time.strftime('%Y%m%d-%H%M%S')}"))


def _fresh(raw: Path) -> Path:
    """A directory that this run alone writes to, so that the streams of an earlier, killed run stay apart."""
    while True:
        raw = store.free_name(raw)
        with contextlib.suppress(FileExistsError):  # another run took the name meanwhile
            raw.mkdir(mode=0o700, parents=True)
            return raw


def capture_environment(
    command: list[str], launch: Launch, options: Options, place: Place, libraries: Path
) -> dict[str, str]:
    """The variables that capture reads, LD_PRELOAD, and what makes Open MPI send them to other nodes."""
    core = str(libraries / capture_cache.CORE)
    preload = os.environ.get("LD_PRELOAD", "")
    variables = {
        "LD_PRELOAD": f"{core}:{preload}" if preload else core,
        "TAILRACE_RAW": str(place.raw),
        "TAILRACE_LIBRARIES": str(libraries),
    }
    if (program := recorded_program(command, launch)) is not None:
        variables["TAILRACE_PROGRAM"] = str(program)
    if options.processes == "all":
        variables["TAILRACE_PROCESSES"] = "all"
    if options.counters:
        variables["TAILRACE_COUNTERS"] = "1"
    if _reaches_all_ranks(command, launch):
        variables["TAILRACE_CLOCK_ALIGNMENT"] = "auto"
    return variables | _forwarding(command, launch, list(variables))


def _reaches_all_ranks(command: list[str], launch: Launch) -> bool:
    """Whether every rank surely is under capture: only then may the nodes' clocks be compared by messages.

    With several programs (`:`) one may not be; with -x it is the user who says what other nodes get.
    """
    return launch.launcher is not None and spans_nodes(command) and not {":", "-x"} & set(command)


def _forwarding(command: list[str], launch: Launch, names: list[str]) -> dict[str, str]:
    """MPICH's and Slurm's launchers pass the environment on; Open MPI's passes on to other nodes what it is told.

    Its list and its option -x exclude each other: then the user is told what to add.
    """
    if launch.launcher is None or not spans_nodes(command):
        return {}
    if "-x" in command:
        tell("if ranks run on other nodes, add to mpiexec: " + " ".join(f"-x {name}" for name in names))
        return {}
    earlier = os.environ.get(OPEN_MPI_LIST)
    return {OPEN_MPI_LIST: ";".join(([earlier] if earlier else []) + names)}


def _execute(command: list[str], environment: dict[str, str]) -> int:
    """Runs the command with our stdin, stdout, stderr and open files; returns its status, negative for a signal."""
    with _forwarding_signals() as child:
        try:
            process = subprocess.Popen(command, env=environment, close_fds=False)
        except OSError as error:
            tell(f"{printable(command[0])} cannot be started: {error.strerror}")
            return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        child.append(process)
        return process.wait()


@contextlib.contextmanager
def _forwarding_signals() -> Iterator[list[subprocess.Popen]]:
    """While the program runs, signals sent to us are its own; those of the terminal it has got already."""
    child: list[subprocess.Popen] = []

    def forward(number: int, _frame: object) -> None:
        if child and not (number in BY_TERMINAL and _in_foreground()):
            child[0].send_signal(number)

    # What a parent had ignored (nohup) stays ignored, and is inherited so.
    handled = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, forward) for number in handled}
    try:
        yield child
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether a terminal sends its signals to our process group."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            return os.tcgetpgrp(descriptor) == os.getpgrp()
    return False


def _finish(place: Place, options: Options) -> None:
    """Packs, verifies, writes the page, prints the verdict. Raw streams stay until the packed trace was read back."""
    if not store.streams(place.raw):
        store.remove_empty(place.directory)
        tell(
            "nothing was recorded: no process was an MPI rank\n\n"
            "hint: `tailrace run --processes all` records every process; `tailrace doctor` shows which MPI is found"
        )
        return
    trace = store.pack_verified(place.raw, place.trace)
    if options.report:
        _report(trace, place.directory)
    else:
        tell(f"trace: {printable(str(trace))}")


def _report(trace: Path, directory: Path) -> None:
    from tailrace.engine import analyze
    from tailrace.report import write_page
    from tailrace.report_json import report
    from tailrace.text_report import console, print_verdict

    columns = analyze(trace)
    page = store.free_name(directory / "report.html")
    write_page(page, [columns], [str(trace)])
    out = console(stderr=True)
    print_verdict(report(columns), out)
    tell(f"trace: {printable(str(trace))}")
    tell(f"page:  {printable(str(page))}")


def _leave(status: int) -> int:
    """The program's status; if a signal ended it, the same signal ends us, without a core of our own."""
    if status >= 0:
        return status
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    return 128 - status
