"""The command line of `tailrace calibrate`."""

from __future__ import annotations

from pathlib import Path

import click

from tailrace.usage import PATH, Duration, only_with


@click.command()
@click.argument("directory", type=PATH, metavar="DIR")
@click.option(
    "-o", "output", type=PATH, metavar="MODEL.toml", help="Write the model there [default: stdout]."
)
@click.option("--name", help="What answers call the file system [default: DIR's name].")
@click.option(
    "--ranks",
    type=click.IntRange(min=2),
    metavar="N",
    help="Also measure by so many MPI ranks: the network, and what several nodes share.",
)
@click.option(
    "--mpiexec",
    metavar="COMMAND",
    help="What starts the ranks, such as `srun` or `mpiexec -f hosts`"
    " [default: mpiexec on the PATH].",
)
@click.option(
    "--budget",
    "budget_s",
    type=Duration(),
    default=120.0,
    metavar="TIME",
    help="Measure for so long at most, but three rounds at least [default: 2m].",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the order of experiments.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/calibrate.json)."
)
def calibrate(
    directory: Path,
    output: Path | None,
    name: str | None,
    ranks: int | None,
    mpiexec: str | None,
    budget_s: float,
    seed: int,
    as_json: bool,
) -> None:
    """Measure what the file system of DIR can do, as a model.

    `tailrace whatif`, `simulate` and `study plan` take the model. Nothing else should run
    meanwhile. The files that are written there are removed.

    \b
    tailrace calibrate /scratch/me -o scratch.toml
    tailrace calibrate /scratch/me -o scratch.toml --ranks 16 --mpiexec srun --budget 5m
    """
    from tailrace.calibration.command import Wanted, main

    if ranks is None:
        only_with(("mpiexec",), "needs --ranks")
    main(Wanted(directory, output, name, ranks, mpiexec, budget_s, seed), as_json)
