"""The command lines of `tailrace run` and `tailrace pack`."""

from pathlib import Path

import click

from tailrace.engine import Collectives
from tailrace.usage import PATH, Done, replay_options


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "directory",
    type=PATH,
    help="Where the trace and the page go [default: tailrace-PROGRAM-TIME].",
)
@click.option(
    "--processes",
    type=click.Choice(["ranks", "all"]),
    default="ranks",
    help="Record MPI ranks, or every process.",
)
@click.option(
    "--counters",
    is_flag=True,
    help="Count instructions and cycles; each captured call then costs more.",
)
@click.option("--label", default="", help="What the run is called beside others.")
@click.option("--report/--no-report", default=True, help="Write report.html and print the verdict.")
@click.option(
    "--raw-dir",
    type=PATH,
    help="Where events go while the program runs; must be the same path on all nodes.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Do not start the program where it cannot be captured [default: run it without].",
)
@replay_options
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    command: tuple[str, ...],
    directory: Path | None,
    processes: str,
    counters: bool,
    label: str,
    report: bool,
    raw_dir: Path | None,
    strict: bool,
    eager_limit_bytes: int | None,
    collectives: Collectives,
) -> None:
    """Run COMMAND under capture, then print the verdict.

    The program behaves exactly as without Tailrace: its output, its files and its exit status stay
    the same.

    \b
    tailrace run -- mpiexec -n 4 ./model
    tailrace run -o history-study -- ./serial-program input.nml
    """
    from tailrace.capture.environment import CaptureOptions
    from tailrace.capture.run import run_command

    options = CaptureOptions(
        directory=directory,
        processes=processes,
        counters=counters,
        label=label,
        report=report,
        raw_dir=raw_dir,
        strict=strict,
        replay={"eager_limit_bytes": eager_limit_bytes, "collectives": collectives},
    )
    raise Done(run_command(list(command), options))


@click.command(short_help="Fetch what this node still holds of a run.")
@click.argument("directory", type=PATH, metavar="DIR")
def collect(directory: Path) -> None:
    """Fetch the streams of a run that this node still holds, after a crash.

    DIR is the run's directory, or its raw directory. Run it on each node that the report names;
    `tailrace pack` then makes the trace.
    """
    from tailrace import nodes
    from tailrace.errors import TailraceError
    from tailrace.names import printable
    from tailrace.store import is_running, raw_directory

    raw = raw_directory(directory)
    if raw is None:
        raise TailraceError(
            f"{printable(str(directory))} holds no run on several nodes",
            "give the directory of `tailrace run`, or its raw directory",
        )
    if is_running(raw):
        raise TailraceError(
            f"{printable(str(directory))}: the program is still running",
            "each node's streams are collected at its end",
        )
    found = nodes.collect(raw)
    streams = "1 stream" if found.streams == 1 else f"{found.streams} streams"
    click.echo(f"{streams} collected")
    for node, place in found.awaited.items():
        click.echo(f"{printable(node)} still holds its streams in {printable(place)}", err=True)
    raise Done(1 if found.awaited else 0)


@click.command(short_help="Pack the raw streams of a run that was killed.")
@click.argument("raw", type=PATH, metavar="RAWDIR")
@click.option("-o", "output", type=PATH, help="The packed trace [default: beside RAWDIR].")
def pack(raw: Path, output: Path | None) -> None:
    """Pack the raw streams of a run that `tailrace run` could not finish. RAWDIR is kept."""
    from tailrace.store import pack_directory

    for trace in pack_directory(raw, output):
        click.echo(str(trace))
