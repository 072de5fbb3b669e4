"""`tailrace run`: the command with capture preloaded, then its trace, page and verdict. The program
comes first: whatever goes wrong here, it runs as it would have run without, and its exit status is
returned.
"""

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tailrace import nodes, store
from tailrace.blas import loading_numpy
from tailrace.capture import libraries
from tailrace.capture.environment import CaptureOptions, Place, capture_environment
from tailrace.capture.launch import (
    Launch,
    executable,
    read_command,
    recorded_name,
    spans_nodes,
    why_not_executable,
)
from tailrace.capture.mpi import for_command
from tailrace.capture.reasons import Attempt, why_nothing
from tailrace.engine import ReplayOptions, analyze
from tailrace.errors import TailraceError
from tailrace.names import printable, shown_path
from tailrace.output import write_new
from tailrace.terminal import tell, tell_styled

NOT_FOUND, NOT_EXECUTABLE = 127, 126
WITHOUT = "capture does not work, the program runs without it"
FORWARDED = (
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGQUIT,
    signal.SIGINT,
)
# A status of 128 and one of these is a signal's.
ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM)
# Ranks whose launcher was killed end by themselves within this time, or go on.
LINGERING_S = 3
# What the terminal itself sends to every process of its foreground group.
BY_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def run_command(command: list[str], options: CaptureOptions) -> int:
    """Runs the command under capture and returns its exit status; dies by the signal that ended
    it."""
    if (status := _cannot_start(command[0])) is not None:
        return status
    launch = read_command(command)
    with contextlib.ExitStack() as kept:
        place, environment = _prepare(command, launch, options, kept)
        try:
            with store.running(place.raw) if place is not None else contextlib.nullcontext():
                status, ended_ns = _execute(command, environment)
        except OSError as error:
            tell(f"{printable(command[0])} cannot be started: {error.strerror}")
            if place is not None:
                store.remove_empty(place.directory, place.raw)
            return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    if place is not None:
        store.say_how_it_ended(place.raw, _how_it_ended(command, launch, status, ended_ns))
        with _never_harming("the trace could not be finished"):
            _finish(Attempt(command, launch, options, place, status))
    return _leave(status)


def _cannot_start(word: str) -> int | None:
    """The shell's status for a program that does not exist or is not executable, before anything
    is compiled for it; None where it can be started."""
    if executable(word) is not None:
        return None
    sentence, hint = why_not_executable(word)
    tell(f"{sentence}\n\nhint: {hint}")
    exists = "/" in word and os.path.exists(word)  # noqa: PTH110 - a long name is no error here
    return NOT_EXECUTABLE if exists else NOT_FOUND


@contextlib.contextmanager
def _never_harming(what: str) -> Iterator[None]:
    """Trouble in Tailrace is reported in a sentence and changes nothing for the program."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"{what}: stopped")
    except TailraceError as error:
        tell(f"{what}: {error}")
    except Exception as error:  # a fault of ours must not become the program's
        tell(f"{what}: {type(error).__name__}: {error}")


def _prepare(
    command: list[str], launch: Launch, options: CaptureOptions, kept: contextlib.ExitStack
) -> tuple[Place | None, dict[str, str]]:
    """Libraries, directory and environment; None and the environment as it is where capture cannot
    work, which is an error only where the user wants it so. `kept`: what stays while the program
    runs."""

    def scratch() -> Path:
        return Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="tailrace-")))

    plain = dict(os.environ)
    strictly = contextlib.nullcontext() if options.strict else _never_harming(WITHOUT)
    with strictly:
        place = _make_place(command, launch, options)
        try:
            prepared = libraries.prepare(for_command(launch) or libraries.ready(), tell)
            preload = libraries.preloadable(prepared, scratch)
            return place, plain | capture_environment(command, launch, options, place, preload)
        except BaseException:
            store.remove_empty(place.directory, place.raw)
            raise
    return None, plain


def _make_place(command: list[str], launch: Launch, options: CaptureOptions) -> Place:
    """Makes DIR and DIR/raw, readable by the owner only."""
    directory = (options.directory or _default_directory(launch)).absolute()
    trace = store.free_name(directory / f"{launch.name}{store.SUFFIX}")
    raw = options.raw_dir.absolute() / trace.stem if options.raw_dir else directory / store.RAW
    several = launch.launcher is not None and spans_nodes(command)
    if several and nodes.only_here(raw):
        raw = _seen_by_all(raw, trace.stem)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        raw = _fresh(raw)
        return Place(directory, raw, trace, nodes.name_run(raw) if several else "")
    except OSError as error:
        raise TailraceError(
            f"{shown_path(error.filename or directory)} cannot be made: {error.strerror}",
            f"choose another place with {'--raw-dir' if options.raw_dir else '-o'}",
        ) from None


def _seen_by_all(raw: Path, name: str) -> Path:
    """Ranks on other nodes cannot write to `raw`. The program lies where all nodes find it, and it
    is mostly started from there: what nodes leave is put beside it until it is packed."""
    here = Path.cwd()
    if nodes.only_here(here):
        raise TailraceError(
            f"{shown_path(raw.parent)} is on this node only, and the ranks are on several",
            "name a directory that all nodes see with -o",
        )
    return here / f".tailrace-{name}"


def _default_directory(launch: Launch) -> Path:
    return store.free_name(Path(f"tailrace-{launch.name}-{time.strftime('%Y%m%d-%H%M%S')}"))


def _fresh(raw: Path) -> Path:
    """A directory that this run alone writes to, so that the streams of an earlier, killed run stay
    apart."""
    while True:
        raw = store.free_name(raw)
        with contextlib.suppress(FileExistsError):  # another run took the name meanwhile
            raw.mkdir(mode=0o700, parents=True)
            return raw


def _execute(command: list[str], environment: dict[str, str]) -> tuple[int, int]:
    """Runs the command with our stdin, stdout, stderr and open files; returns its status, negative
    for a signal, and when it ended, by CLOCK_MONOTONIC."""
    with _forwarding_signals() as child:
        process = subprocess.Popen(command, env=environment, close_fds=False)
        child.append(process)
        return process.wait(), time.monotonic_ns()


@contextlib.contextmanager
def _forwarding_signals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """While the program runs, signals sent to us are its own; those of the terminal it has got
    already."""
    child: list[subprocess.Popen[bytes]] = []

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


def _finish(attempt: Attempt) -> None:
    """Packs, verifies, writes the page, prints the verdict. Raw streams stay until the packed trace
    was read back."""
    place, options = attempt.place, attempt.options
    if _goes_on(place.raw):
        return
    nodes.collect(place.raw)
    if not store.has_streams(place.raw):
        reason = why_nothing(attempt)
        store.remove_empty(place.directory, place.raw)
        tell(str(reason))
        return
    with loading_numpy() if options.report else contextlib.nullcontext():
        traces = store.pack_verified(place.raw, place.trace, partial(_names, attempt))
    for trace in traces:
        if options.report:
            _report(trace, place.directory, options.replay)
        else:
            tell(f"trace: {_from_here(trace)}")
    _tell_of_nodes(place)


def _goes_on(raw: Path) -> bool:
    """Whether what the command started outlives it, and is recorded: then the streams are needed.
    What ends with the command, or with its launcher, may take a moment."""
    until = time.monotonic() + LINGERING_S
    while store.is_written(raw):
        if time.monotonic() > until:
            where = _from_here(raw.parent if raw.name == store.RAW else raw)
            tell(
                "the command has ended, and what it started goes on and is recorded\n\n"
                f"hint: when that has ended, `tailrace report {where}`"
            )
            return True
        time.sleep(0.01)
    return False


def _tell_of_nodes(place: Place) -> None:
    awaited = nodes.awaited(place.raw)
    if awaited:
        names = ", ".join(map(printable, awaited))
        tell(
            f"what was recorded on {names} is still there (a node died, or its ranks were killed);"
            " the trace is without it\n\n"
            f"hint: on each of them `tailrace collect {_from_here(place.raw)}`, then"
            f" `tailrace pack {_from_here(place.raw)}`"
        )


def _names(attempt: Attempt, runs: list[store.Packed]) -> list[str]:
    """What starts with a script is called after the programs that the script started. Says what
    several runs mean."""
    if len(runs) > 1:
        tell(_several(attempt, runs))
    if len(runs) == 1 and not attempt.launch.is_script:
        return [attempt.launch.name]
    return [recorded_name(run.meta) or attempt.launch.name for run in runs]


def _several(attempt: Attempt, runs: list[store.Packed]) -> str:
    """Ranks of one launcher that are alone in MPI are those of another MPI's launcher."""
    launcher = attempt.launch.launcher
    if launcher is None or not all(run.ranks == 1 and run.meta.get("mpi") for run in runs):
        return f"the command started {len(runs)} runs, each with a trace and a verdict of its own"
    library = printable(runs[0].meta["mpi"].split(",")[0])
    way = "`srun --mpi=…` (srun --mpi=list)" if launcher.name == "srun" else "mpiexec"
    return (
        f"the {len(runs)} processes that {printable(launcher.name)} started do not know of each"
        " other: each is a run of one rank, with a trace and a verdict of its own\n\n"
        f"hint: the program uses {library}; start it with the {way} of that MPI"
    )


def _report(trace: Path, directory: Path, replay: ReplayOptions) -> None:
    """The verdict first: the page takes longer to make."""
    from tailrace.report.short import short_lines
    from tailrace.verdict.as_json import report

    columns = analyze(trace, **replay)
    document = report(columns)
    tell_styled(short_lines(document))
    tell(f"trace: {_from_here(trace)}")
    with _never_harming("the page could not be made"):
        from tailrace.page import render

        html = render([columns], [str(trace)], documents=[document])
        page = write_new(directory / "report.html", html)
        tell(f"page:  {_from_here(page)}")


def _from_here(path: Path) -> str:
    """The path as a user would type it: relative to the current directory where it lies below."""
    with contextlib.suppress(OSError, ValueError):  # there may be no current directory any more
        path = path.relative_to(Path.cwd())
    return printable(str(path))


def _how_it_ended(command: list[str], launch: Launch, status: int, ended_ns: int) -> dict[str, str]:
    """What the streams of ranks that were killed do not say. A script may have done anything behind
    its last program."""
    by = "launcher" if launch.launcher else "script" if launch.runs_others else "program"
    told = {"name": printable(Path(command[0]).name), "host": os.uname().nodename}
    told |= {"monotonic_ns": str(ended_ns), "through": by}
    if status >= 0:
        told["status"] = str(status)
    if (signal_name := _signal(status)) is not None:
        told["signal"] = signal_name
    return told


def _signal(status: int) -> str | None:
    """The signal that ended the command: its own, or of what it started, as launchers and shells
    pass it on."""
    number = -status if status < 0 else status - 128
    if status >= 0 and number not in ENDING:
        return None
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return None


def _leave(status: int) -> int:
    """The program's status; if a signal ended it, the same signal ends us, without a core of our
    own."""
    if status >= 0:
        return status
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):  # nobody changes what SIGKILL and the C library's own do
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
    return 128 - status
