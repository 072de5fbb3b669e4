"""The command line of `tailrace report`."""

from pathlib import Path

import click

from tailrace.engine import Collectives, ReplayOptions
from tailrace.usage import PAGE, PATH, only_with, replay_options


@click.command()
@click.argument("traces", nargs=-1, required=True, type=PATH, metavar="TRACE...")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the numbers as JSON (docs/schema/report.json, reports.json).",
)
@click.option("-o", "page", type=PAGE, help="Write one self-contained HTML page; - is stdout.")
@replay_options
@click.option(
    "--target",
    type=PATH,
    metavar="MODEL",
    help="The file system that the runs used, as `tailrace calibrate` found it: findings say what"
    " another method, or node-local storage, would give where they advise it.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="TEXT",
    help="What a run is called, once for each TRACE in order [default: what tells them apart].",
)
@click.option(
    "--reference",
    type=click.IntRange(min=1),
    metavar="RANKS",
    help="The run to scale against [default: fewest ranks].",
)
@click.option(
    "--scaling",
    type=click.Choice(["auto", "strong", "weak"]),
    default="auto",
    show_default=True,
    help="Whether the problem grows with the ranks; auto decides by the work done.",
)
def report(
    traces: tuple[Path, ...],
    as_json: bool,
    page: Path | None,
    eager_limit_bytes: int | None,
    collectives: Collectives,
    target: Path | None,
    labels: tuple[str, ...],
    reference: int | None,
    scaling: str,
) -> None:
    """Explain TRACE: verdict, efficiencies, and where the time went. Several traces give the
    scaling table.

    TRACE is a .tailrace file, a directory of `tailrace run`, or Extrae's .prv or .prv.gz.
    """
    from tailrace.blas import load_numpy

    load_numpy()
    from tailrace.report.command import main

    if len(traces) == 1:
        only_with(("reference", "scaling"), "needs several traces to compare")
    replay: ReplayOptions = {"eager_limit_bytes": eager_limit_bytes, "collectives": collectives}
    main(list(traces), as_json, page, replay, reference, scaling, list(labels), target)
