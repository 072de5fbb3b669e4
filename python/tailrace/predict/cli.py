"""The command line of `tailrace whatif`."""

from __future__ import annotations

import re
from collections.abc import Callable
from os.path import abspath
from pathlib import Path
from typing import Any

import click

from tailrace.errors import TailraceError
from tailrace.predict.methods import METHODS, WITH_AGGREGATORS, Method, Way
from tailrace.usage import EAGER_LIMIT, PATH, Cache, Size, Verb, cache_option

MOST_MERGED_BYTES = 10**12
MOST_RANKS = 10**6


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


def factor(name: str, what: str) -> Callable[[Verb], Verb]:
    return click.option(
        name, type=Factor(), default=None, metavar="FACTOR", help=f"{what} so many times as fast."
    )


@click.command()
@click.argument("traces", type=PATH, metavar="TRACE...", nargs=-1, required=True)
@factor("--io-rate", "The file system")
@factor("--network", "The network")
@factor("--compute", "The processors")
@click.option(
    "--target",
    "targets",
    multiple=True,
    type=PATH,
    metavar="MODEL",
    help="Another file system: a file of `tailrace calibrate`, or a name such as lustre;"
    " several are compared.",
)
@click.option(
    "--files",
    "directory",
    type=PATH,
    metavar="DIR",
    help="Move only the files in DIR to the target [default: all].",
)
@cache_option
@click.option(
    "--merge",
    "merge_bytes",
    type=Size(),
    metavar="SIZE",
    help="Each rank gathers up to SIZE of what it writes one behind the other, such as 4M.",
)
@click.option(
    "--stripes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Files lie on so many of the target's servers.",
)
@click.option(
    "--ranks-per-node",
    type=click.IntRange(1, MOST_RANKS),
    metavar="N",
    help="So many ranks share a node and its cache, for the target.",
)
@click.option(
    "--stage",
    type=PATH,
    metavar="MODEL",
    help="What is written goes to this file system first, and beside the run to where it goes.",
)
@click.option(
    "--method",
    type=click.Choice(METHODS),
    help="Outputs are made by another method, on the target.",
)
@click.option(
    "--aggregators",
    type=click.IntRange(min=1),
    metavar="N",
    help="So many ranks write, collective or aggregated [default: one a node].",
)
@click.option(
    "--piece",
    "piece_bytes",
    type=Size(),
    metavar="SIZE",
    help="So many bytes of a rank lie together in a file, where the trace does not tell it.",
)
@click.option("--overlap", is_flag=True, help="Output is written beside the computation.")
@click.option(
    "--ranks",
    type=click.IntRange(min=1),
    metavar="N",
    help="So many ranks, by runs of one program on three other numbers or more.",
)
@click.option(
    "--all", "every", is_flag=True, help="Each change by itself, the largest gain first [default]."
)
@click.option("--eager-limit", "eager_limit_bytes", **EAGER_LIMIT)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/whatif.json)."
)
def whatif(
    traces: tuple[Path, ...],
    io_rate: float | None,
    network: float | None,
    compute: float | None,
    targets: tuple[Path, ...],
    directory: Path | None,
    cache: Cache | None,
    merge_bytes: int | None,
    stripes: int | None,
    ranks_per_node: int | None,
    stage: Path | None,
    method: Method | None,
    aggregators: int | None,
    piece_bytes: int | None,
    overlap: bool,
    ranks: int | None,
    every: bool,
    eager_limit_bytes: int | None,
    as_json: bool,
) -> None:
    """Predict what a change would give to the run of TRACE.

    Changes that are named together are made together. Without any, each of the default ones is made
    by itself.

    TRACE is a .tailrace file, a directory of `tailrace run`, or Extrae's .prv or .prv.gz.

    \b
    tailrace whatif run-1 run-2 run-4 run-8 --ranks 32
    """
    from tailrace.predict.command import main, of_ranks

    options = {"io": io_rate, "network": network, "compute": compute, "merge": merge_bytes}
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    of_target = {"cache": cache, "stripes": stripes, "ranks-per-node": ranks_per_node}
    of_target = {name: value for name, value in of_target.items() if value is not None}
    is_moved = targets or stage is not None or of_target or directory is not None
    if (way := _way(method, aggregators, piece_bytes)) is not None:
        chosen["way"] = way
    if ranks is not None:
        if chosen or overlap or every or is_moved:
            raise click.UsageError("--ranks goes with no other change")
        of_ranks(traces, ranks, eager_limit_bytes, as_json)
        return
    if len(traces) > 1:
        raise click.UsageError("several traces say what other numbers of ranks give: --ranks N")
    if merge_bytes is not None and not 1 < merge_bytes <= MOST_MERGED_BYTES:
        raise click.UsageError("--merge takes a size between 2 bytes and 1 TB, such as 4M")
    if way is not None and (merge_bytes is not None or not targets):
        _refuse_method(merge_bytes)
    if every and (chosen or overlap or stage is not None):
        raise click.UsageError("--all makes each change by itself, so it goes with --target alone")
    if of_target and not targets:
        option = f"--{next(iter(of_target))}"
        raise click.UsageError(f"{option} says something about a target, so it goes with --target")
    if directory is not None and not targets and stage is None:
        raise click.UsageError("--files says what moves, so it goes with --target or --stage")
    # links are not followed: the trace has the names that the program used
    place = directory and Path(abspath(directory))  # noqa: PTH100
    moving = {"directory": place, **{name.replace("-", "_"): of_target[name] for name in of_target}}
    chosen |= {"overlap": overlap} if overlap else {}
    main(traces[0], chosen, list(targets), moving, stage, every, eager_limit_bytes, as_json)


def _way(method: Method | None, aggregators: int | None, piece_bytes: int | None) -> Way | None:
    if aggregators is not None and method not in WITH_AGGREGATORS:
        raise click.UsageError("--aggregators goes with --method collective or aggregated")
    if method is None and piece_bytes is not None:
        raise click.UsageError("--piece says something about another method: --method METHOD")
    return None if method is None else Way(method, aggregators, piece_bytes)


def _refuse_method(merge_bytes: int | None) -> None:
    if merge_bytes is not None:
        raise click.UsageError("--method makes other writes, so there are none for --merge")
    raise TailraceError(
        "--method makes file calls that were not measured, so it takes a model of a file system",
        "name one with --target; `tailrace calibrate DIR -o MODEL.toml` measures the run's own",
    )
