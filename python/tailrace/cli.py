"""The command line: one verb per question. Numbers on stdout; progress, hints and errors on stderr.

Exit status: 0 done, 1 the answer is bad, 2 wrong use or unreadable input; `tailrace run` gives the
program's own. Each verb's options stand in its own room.
"""

import sys

import click

from tailrace.bench.cli import bench
from tailrace.capture.cli import pack, run
from tailrace.report.cli import report
from tailrace.study.cli import study
from tailrace.usage import Commands

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=Commands, context_settings=SETTINGS)
@click.version_option(package_name="tailrace", message="tailrace %(version)s")
def cli() -> None:
    """Shows whether I/O holds a parallel simulation back, how much, and why."""


@cli.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/doctor.json)."
)
def doctor(as_json: bool) -> None:
    """Show what is installed, and the exact command for what is missing."""
    from tailrace.doctor import main as run_doctor

    sys.exit(run_doctor(as_json))


for verb in (run, report, bench, pack, study):
    cli.add_command(verb)


def main() -> None:
    cli(prog_name="tailrace")


if __name__ == "__main__":
    main()
