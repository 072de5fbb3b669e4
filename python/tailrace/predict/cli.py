"""The command lines of `tailrace whatif` and `tailrace calibrate`."""

from __future__ import annotations

import re
from collections.abc import Callable
from os.path import abspath
from pathlib import Path
from typing import Literal

import click

from tailrace.usage import EAGER_LIMIT, PATH, Size, Verb

MOST_MERGED_BYTES = 10**12


class Factor(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """How many times as fast: 2x, 2 or 0.5."""

    name = "factor"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)[x×]?", str(value).strip())
        factor = float(found[1]) if found else 0.0
        if not 1e-6 <= factor <= 1e6:
            self.fail(f"'{value}' is not a factor such as 2x or 0.5", param, ctx)
        return factor


class Duration(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Seconds: 90, 90s or 5m."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d*)?)(s|m|min)?", str(value).strip())
        seconds = float(found[1]) * (60 if found[2] in ("m", "min") else 1) if found else 0.0
        if not 1 <= seconds <= 86_400:
            self.fail(f"'{value}' is not a duration such as 90s or 5m", param, ctx)
        return seconds


def factor(name: str, what: str) -> Callable[[Verb], Verb]:
    return click.option(
        name, type=Factor(), default=None, metavar="FACTOR", help=f"{what} so many times as fast."
    )


@click.command()
@click.argument("trace", type=PATH, metavar="TRACE")
@factor("--io-rate", "The file system")
@factor("--network", "The network")
@factor("--compute", "The processors")
@click.option(
    "--target",
    "targets",
    multiple=True,
    type=PATH,
    metavar="MODEL.toml",
    help="Another file system, as `tailrace calibrate` wrote it; several are compared.",
)
@click.option(
    "--files",
    "directory",
    type=PATH,
    metavar="DIR",
    help="Move only the files in DIR to the target [default: all].",
)
@click.option(
    "--cache",
    type=click.Choice(["cold", "warm"]),
    help="Whether the target's clients have the files in memory when the run begins.",
)
@click.option(
    "--merge",
    "merge_bytes",
    type=Size(),
    metavar="SIZE",
    help="Each rank gathers up to SIZE of what it writes one behind the other, as 4M.",
)
@click.option("--overlap", is_flag=True, help="Output is written beside the computation.")
@click.option(
    "--all", "every", is_flag=True, help="Each change by itself, the largest gain first [default]."
)
@click.option("--eager-limit", "eager_limit_bytes", **EAGER_LIMIT)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/whatif.json)."
)
def whatif(
    trace: Path,
    io_rate: float | None,
    network: float | None,
    compute: float | None,
    targets: tuple[Path, ...],
    directory: Path | None,
    cache: Literal["cold", "warm"] | None,
    merge_bytes: int | None,
    overlap: bool,
    every: bool,
    eager_limit_bytes: int | None,
    as_json: bool,
) -> None:
    """Predict what a change would give: TRACE again, on other file systems or with other resources.

    Changes that are named together are made together. Without any, each of the usual ones is made
    by itself.

    TRACE is a .tailrace file, a directory of `tailrace run`, or Extrae's .prv or .prv.gz.
    """
    from tailrace.predict.command import main

    options = {"io": io_rate, "network": network, "compute": compute, "merge": merge_bytes}
    chosen = {name: value for name, value in options.items() if value is not None}
    if merge_bytes is not None and not 1 < merge_bytes <= MOST_MERGED_BYTES:
        raise click.UsageError("--merge takes a size between 2 bytes and 1 TB, such as 4M")
    if every and (chosen or overlap):
        raise click.UsageError("--all makes each change by itself, so it goes with --target alone")
    if not targets and (directory is not None or cache is not None):
        option = "--cache" if directory is None else "--files"
        raise click.UsageError(f"{option} says something about a target, so it goes with --target")
    # links are not followed: the trace has the names that the program used
    place = directory and Path(abspath(directory))  # noqa: PTH100
    moving = {"directory": place, "cache": cache}
    main(trace, chosen, list(targets), moving, overlap, every, eager_limit_bytes, as_json)


@click.command()
@click.argument("directory", type=PATH, metavar="DIR")
@click.option(
    "-o", "output", type=PATH, metavar="MODEL.toml", help="Write the model there [default: stdout]."
)
@click.option("--name", help="What answers call the file system [default: DIR's name].")
@click.option(
    "--budget",
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
    budget: float,
    seed: int,
    as_json: bool,
) -> None:
    """Measure what the file system of DIR can do, as a model for `tailrace whatif --target`.

    Nothing else should run meanwhile. The files that are written there are removed.
    """
    from tailrace.predict.calibration.command import main

    main(directory, output, name, budget, seed, as_json)
