"""The options of `tailrace bench`: each a field, with what the command line says of it."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import click

from tailrace.bench.gridio import FORMATS, METHODS
from tailrace.engine import Collectives
from tailrace.usage import COLLECTIVES, EAGER_LIMIT, PATH

WORDS = "words"


def option(*words: str, **settings: Any) -> dict[str, Any]:
    """What click.option takes, as a field keeps it."""
    return {WORDS: words} | settings


@dataclass(frozen=True)
class BenchOptions:
    ranks: int = field(
        metadata=option(
            "--ranks",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="MPI ranks (CalculiX: threads).",
        )
    )
    method: str | None = field(
        metadata=option("--method", metavar="METHOD", help=f"{', '.join(METHODS)}.")
    )
    format: str | None = field(
        metadata=option("--format", metavar="FORMAT", help=f"{', '.join(FORMATS)}.")
    )
    directory: Path = field(
        metadata=option(
            "--dir", type=PATH, default=Path(), help="Directory to write to [default: here]."
        )
    )
    read_directory: Path | None = field(
        metadata=option("--read-dir", type=PATH, help="Directory to read from [default: as --dir].")
    )
    size: str | None = field(
        metadata=option(
            "--size", metavar="NAME", help="One of the workload's sizes; --list shows them."
        )
    )
    changes: tuple[str, ...] = field(
        metadata=option(
            "--set", multiple=True, metavar="KEY=VALUE", help="Change one of the program's keys."
        )
    )
    hints: tuple[str, ...] = field(
        metadata=option("--hint", multiple=True, metavar="KEY=VALUE", help="Hint for MPI-IO.")
    )
    settings: tuple[str, ...] = field(
        metadata=option(
            "--setting",
            multiple=True,
            metavar="NAME=VALUE",
            help="Setting of the method or format (kernels/README.md).",
        )
    )
    repeat: int = field(
        metadata=option(
            "--repeat",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Number of runs.",
        )
    )
    verify: bool = field(
        metadata=option(
            "--verify/--no-verify",
            default=True,
            show_default=True,
            help="Read back and compare every element.",
        )
    )
    cold: bool = field(
        metadata=option(
            "--cold", is_flag=True, help="Drop files from the page cache before reading them."
        )
    )
    mpiexec: str | None = field(
        metadata=option(
            "--mpiexec",
            metavar="COMMAND",
            help="The launcher, whose MPI is used [default: mpiexec on the PATH].",
        )
    )
    keep: bool = field(
        metadata=option("--keep", is_flag=True, help="Keep the files that were written.")
    )
    capture: bool = field(
        metadata=option(
            "--capture", is_flag=True, help="Run under capture; adds the efficiencies and a page."
        )
    )
    eager_limit_bytes: int | None = field(metadata=option("--eager-limit", **EAGER_LIMIT))
    collectives: Collectives = field(metadata=option("--collectives", **COLLECTIVES))
    everything: bool = field(
        metadata=option(
            "--all", is_flag=True, help="Print every step of every run, not only a summary."
        )
    )
    as_json: bool = field(
        metadata=option(
            "--json", is_flag=True, help="Print the answer as JSON (docs/schema/bench.json)."
        )
    )
    time_limit_s: float = field(
        metadata=option(
            "--time-limit",
            type=click.FloatRange(min=0),
            default=0.0,
            metavar="SECONDS",
            help="End the run after so many seconds [default: no limit].",
        )
    )


def bench_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives the command all of them, in this order."""
    for entry in reversed(fields(BenchOptions)):
        settings = dict(entry.metadata)
        command = click.option(*settings.pop(WORDS), entry.name, **settings)(command)
    return command
