"""The command line: one verb per question. Numbers on stdout; progress, hints and errors on stderr.

Exit status: 0 done, 1 the answer is bad, 2 wrong use or unreadable input; `tailrace run` gives the
program's own. Each verb's options stand in its own room.
"""

# ruff: noqa: E402 - what is set first holds for the imports
import gc
import sys
from importlib import import_module

# What is imported stays: to look for garbage in it every 700 objects is a tenth of the start.
gc.set_threshold(100_000, 50, 100)

import click

from tailrace.usage import Commands, Done, end

# Where the other verbs stand: NAME of tailrace.ROOM.cli.
ROOMS = {
    "bench": "bench",
    "calibrate": "calibration",
    "collect": "capture",
    "pack": "capture",
    "report": "report",
    "run": "capture",
    "simulate": "simulate",
    "study": "study",
    "whatif": "predict",
}
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class Verbs(Commands):
    """The verbs: the options of each are imported only where somebody asks for it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *ROOMS})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in ROOMS and name not in self.commands:
            self.add_command(getattr(import_module(f"tailrace.{ROOMS[name]}.cli"), name))
        return super().get_command(ctx, name)


@click.group(cls=Verbs, context_settings=SETTINGS)
@click.version_option(package_name="tailrace", message="tailrace %(version)s")
def cli() -> None:
    """Shows whether I/O holds a parallel simulation back, how much, and why."""


@cli.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/doctor.json)."
)
def doctor(as_json: bool) -> None:
    """Show what is installed, and the commands for what is missing."""
    from tailrace.doctor import main as run_doctor

    sys.exit(run_doctor(as_json))


def main() -> None:
    try:
        cli(prog_name="tailrace")
    except Done as done:
        end(done)
    finally:
        # When Python ends it looks for garbage among all that was imported, for 15 ms, although
        # the system takes the memory back anyway.
        gc.freeze()


if __name__ == "__main__":
    main()
