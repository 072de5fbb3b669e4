"""The command line of `tailrace simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tailrace.usage import EAGER_LIMIT, PATH, Number, Size, cache_option


@click.command()
@click.argument("workload")
@click.option("--ranks", type=click.IntRange(min=1), required=True, help="MPI ranks.")
@click.option("--method", metavar="METHOD", help="As in `tailrace bench`.")
@click.option("--format", "format_", metavar="FORMAT", help="posix or mpiio.")
@click.option(
    "--target",
    type=PATH,
    required=True,
    metavar="MODEL",
    help="The file system: a file of `tailrace calibrate`, or a name such as lustre.",
)
@click.option("--size", metavar="NAME", help="One of the workload's sizes.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change one of the program's keys.",
)
@click.option(
    "--setting",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Setting of the method (kernels/README.md).",
)
@click.option(
    "--hint",
    "hints",
    multiple=True,
    metavar="KEY=VALUE",
    help="Hint for MPI-IO: cb_nodes, cb_buffer_size.",
)
@click.option(
    "--ranks-per-node",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    help="Ranks that share a node and its cache.",
)
@click.option(
    "--step-seconds",
    "step_s",
    type=Number(min=0, max=1e6),
    default=None,
    metavar="SECONDS",
    help="What a model step computes, on the rank with the most cells [default: 0].",
)
@click.option(
    "--latency",
    "latency_s",
    type=Number(min=0, max=1),
    default=None,
    metavar="SECONDS",
    help="Of a message [default: the model's, else 2e-6, between 1e-6 and 5e-6].",
)
@click.option(
    "--bandwidth",
    "bandwidth",
    type=Size(),
    default=None,
    metavar="SIZE",
    help="Bytes a second of one rank's messages [default: the model's, else 5GB, between 1GB and"
    " 20GB].",
)
@cache_option
@click.option("--eager-limit", "eager_limit_bytes", **EAGER_LIMIT)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/simulate.json)."
)
def simulate(workload: str, target: Path, as_json: bool, **given: Any) -> None:
    """Predict what a run of WORKLOAD would take, without running it.

    WORKLOAD is a name (`tailrace bench --list`) or the path of a .toml file of your own.

    \b
    tailrace simulate roms --ranks 4096 --method independent --format posix --target scratch.toml
    """
    from tailrace.simulate.command import main

    main(workload, target, as_json, given)
