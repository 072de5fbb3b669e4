"""The command line of `tailrace whatif`."""

from __future__ import annotations

import re
from collections.abc import Callable
from os.path import abspath
from pathlib import Path
from typing import Any, NamedTuple

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
    ranks: int | None,
    eager_limit_bytes: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Predict what a change would give to the run of TRACE.

    Changes that are named together are made together. Without any, each of the default ones is made
    by itself.

    TRACE is a .tailrace file, a directory of `tailrace run`, or Extrae's .prv or .prv.gz.

    \b
    tailrace whatif run-1 run-2 run-4 run-8 --ranks 32
    """
    from tailrace.predict.command import main, of_ranks

    asked = Asked(**options)
    if ranks is not None:
        if asked._replace(targets=()).is_anything:
            raise click.UsageError("--ranks goes with no other change")
        of_ranks(traces, ranks, asked.targets, eager_limit_bytes, as_json)
        return
    if len(traces) > 1:
        raise click.UsageError("several traces say what other numbers of ranks give: --ranks N")
    asked.check()
    moving = {**asked.place, **asked.of_target}
    targets, every = list(asked.targets), asked.every
    main(traces[0], asked.together, targets, moving, asked.stage, every, eager_limit_bytes, as_json)


class Asked(NamedTuple):
    """What the options say that name changes."""

    io_rate: float | None
    network: float | None
    compute: float | None
    targets: tuple[Path, ...]
    directory: Path | None
    cache: Cache | None
    merge_bytes: int | None
    stripes: int | None
    ranks_per_node: int | None
    stage: Path | None
    method: Method | None
    aggregators: int | None
    piece_bytes: int | None
    overlap: bool
    every: bool

    @property
    def way(self) -> Way | None:
        return self.method and Way(self.method, self.aggregators, self.piece_bytes)

    @property
    def together(self) -> dict[str, Any]:
        """The fields of a change that has all of them, but for what moves where."""
        fields = {
            "io": self.io_rate, "network": self.network, "compute": self.compute,
            "merge": self.merge_bytes, "way": self.way, "overlap": self.overlap or None,
        }  # fmt: skip
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def of_target(self) -> dict[str, Any]:
        """The fields that say something about a target."""
        names = ("cache", "stripes", "ranks_per_node")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def place(self) -> dict[str, Path | None]:
        """Links are not followed: the trace has the names that the program used."""
        return {"directory": self.directory and Path(abspath(self.directory))}  # noqa: PTH100

    @property
    def is_anything(self) -> bool:
        return any(not (value is None or value is False or value == ()) for value in self)

    def check(self) -> None:
        """Raises click.UsageError and TailraceError for what does not go together."""
        self._check_method()
        if self.merge_bytes is not None and not 1 < self.merge_bytes <= MOST_MERGED_BYTES:
            raise click.UsageError("--merge takes a size between 2 bytes and 1 TB, such as 4M")
        if self.every and (self.together or self.stage is not None):
            raise click.UsageError(
                "--all makes each change by itself, so it goes with --target alone"
            )
        if self.of_target and not self.targets:
            option = "--" + next(iter(self.of_target)).replace("_", "-")
            raise click.UsageError(
                f"{option} says something about a target, so it goes with --target"
            )
        if self.directory is not None and not self.targets and self.stage is None:
            raise click.UsageError("--files says what moves, so it goes with --target or --stage")

    def _check_method(self) -> None:
        if self.aggregators is not None and self.method not in WITH_AGGREGATORS:
            raise click.UsageError("--aggregators goes with --method collective or aggregated")
        if self.method is None and self.piece_bytes is not None:
            raise click.UsageError("--piece says something about another method: --method METHOD")
        if self.piece_bytes == 0:
            raise click.UsageError("--piece takes at least a byte, such as 64K")
        if self.method is not None and self.merge_bytes is not None:
            raise click.UsageError("--method makes other writes, so there are none for --merge")
        if self.method is not None and not self.targets:
            raise TailraceError(
                "--method makes file calls that were not measured, so it takes a model of a file"
                " system",
                "name one with --target; `tailrace calibrate DIR -o MODEL.toml` measures the run's"
                " own",
            )
