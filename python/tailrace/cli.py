"""The command line: one verb per question. Numbers on stdout; progress, hints and errors on stderr.

Exit status: 0 done, 1 the answer is bad, 2 wrong use or unreadable input; `tailrace run` gives the program's own.
"""

import sys
from pathlib import Path

import click

from tailrace.errors import TailraceError
from tailrace.study.cli import study

TRACE = click.Path(path_type=Path)


class Verbs(click.Group):
    """Tells errors in one sentence and a hint, never with a traceback."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except TailraceError as error:
            click.echo(f"tailrace: {error}", err=True)
            context.exit(2)
        except KeyboardInterrupt:
            click.echo("\ntailrace: stopped.", err=True)
            context.exit(130)
        except BrokenPipeError:  # `tailrace report … | head`
            sys.stdout = None
            context.exit(0)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="tailrace", message="tailrace %(version)s")
def cli() -> None:
    """Tells whether input and output hold a parallel simulation back, how much, and why."""


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/doctor.json).")
def doctor(as_json: bool) -> None:
    """What is installed, which MPI, which formats, and the exact command for what is missing."""
    from tailrace.doctor import main as run_doctor

    sys.exit(run_doctor(as_json))


@cli.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-o", "directory", type=TRACE, help="Where the trace and the page go [default: tailrace-PROGRAM-TIME].")
@click.option(
    "--processes", type=click.Choice(["ranks", "all"]), default="ranks", help="Record MPI ranks, or every process."
)
@click.option("--counters", is_flag=True, help="Count instructions and cycles; each captured call then costs more.")
@click.option("--report/--no-report", default=True, help="Write report.html and print the verdict.")
@click.option(
    "--raw-dir", type=TRACE, help="Where events go while the program runs: must be the same path on all nodes."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(command: tuple[str, ...], **options: object) -> None:
    """Run COMMAND under capture, then print the verdict.

    The program runs as ever: its output, its files and its exit status stay the same.

    \b
    tailrace run -- mpiexec -n 4 ./model
    tailrace run -o history-study -- ./serial-program input.nml
    """
    from tailrace.run import Options, run_command

    sys.exit(run_command(list(command), Options(**options)))


@cli.command()
@click.argument("traces", nargs=-1, required=True, type=TRACE, metavar="TRACE...")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the numbers as JSON (docs/schema/report.json, reports.json)."
)
@click.option("-o", "page", type=TRACE, help="Write one self-contained HTML page.")
@click.option(
    "--eager-limit",
    "eager_limit_bytes",
    type=click.IntRange(min=0),
    default=32768,
    show_default=True,
    metavar="BYTES",
    help="Larger messages make their sender wait for the receiver.",
)
@click.option(
    "--collectives",
    type=click.Choice(["data", "all"]),
    default="data",
    show_default=True,
    help="Ranks wait only where data flow, or always for all (Dimemas).",
)
@click.option(
    "--reference", type=click.IntRange(min=1), metavar="RANKS", help="The run to scale against [default: fewest ranks]."
)
@click.option(
    "--scaling",
    type=click.Choice(["auto", "strong", "weak"]),
    default="auto",
    show_default=True,
    help="Whether the problem grows with the ranks; auto tells by the work done.",
)
def report(traces: tuple[Path, ...], as_json: bool, page: Path | None, **options: object) -> None:
    """Explain TRACE: the verdict, the efficiencies, where the time went. Several traces give the scaling table.

    TRACE is a .tailrace file, a directory of `tailrace run`, or Extrae's .prv or .prv.gz.
    """
    from tailrace.report import main as run_report

    run_report(list(traces), as_json, page, **options)


@cli.command()
@click.argument("workload", required=False)
@click.option("--list", "list_only", is_flag=True, help="List the workloads that come with Tailrace.")
@click.option(
    "--ranks", type=click.IntRange(min=1), default=1, show_default=True, help="MPI ranks (CalculiX: threads)."
)
@click.option("--method", metavar="METHOD", help="serial, collective, independent, aggregated, file-per-rank.")
@click.option("--format", metavar="FORMAT", help="posix, mpiio, hdf5, netcdf4, netcdf3, pnetcdf, cgns.")
@click.option("--dir", "directory", type=TRACE, default=Path(), help="Where it writes [default: here].")
@click.option("--read-dir", "read_directory", type=TRACE, help="Where it reads from [default: as --dir].")
@click.option("--size", metavar="NAME", help="One of the workload's sizes; --list shows them.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change one of the program's keys.")
@click.option("--hint", "hints", multiple=True, metavar="KEY=VALUE", help="A hint for MPI-IO.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=VALUE", help="Of the method or the format.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Run so often.")
@click.option("--verify/--no-verify", default=True, show_default=True, help="Read back and compare every element.")
@click.option("--cold", is_flag=True, help="Drop files from the page cache before they are read.")
@click.option("--mpiexec", metavar="COMMAND", help="Whose MPI to use [default: the mpiexec on the PATH].")
@click.option("--keep", is_flag=True, help="Keep what was written.")
@click.option("--capture", is_flag=True, help="Run under capture, and add the efficiencies and a page.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/bench.json).")
@click.option("--time-limit", "time_limit_s", type=click.FloatRange(min=0), default=0.0, help="In seconds; 0: none.")
def bench(workload: str | None, list_only: bool, as_json: bool, **options: object) -> None:
    """Run WORKLOAD once by a method and in a format, and verify every element that it wrote.

    WORKLOAD is a name (--list) or the path of a .toml file of your own (docs/workloads.md).

    \b
    tailrace bench roms --ranks 4 --method serial --format netcdf4 --dir /scratch/me
    tailrace bench btio --ranks 4 --method collective --format mpiio --size W --dir /scratch/me
    """
    from tailrace.bench.command import Options, main, show_list

    if list_only:
        sys.exit(show_list(as_json))
    if workload is None:
        raise click.UsageError("which WORKLOAD? `tailrace bench --list` lists those that there are.")
    sys.exit(main(workload, Options(as_json=as_json, **options)))


@cli.command()
@click.argument("raw", type=TRACE, metavar="RAWDIR")
@click.option("-o", "output", type=TRACE, help="The packed trace [default: beside RAWDIR].")
def pack(raw: Path, output: Path | None) -> None:
    """Pack the raw streams of a run that `tailrace run` could not finish. RAWDIR is kept."""
    from tailrace.store import pack_directory

    click.echo(str(pack_directory(raw, output)))


cli.add_command(study)


def main() -> None:
    cli(prog_name="tailrace")


if __name__ == "__main__":
    main()
