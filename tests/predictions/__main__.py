"""Records, predicts, measures, and writes the page."""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ..conftest import ROOT
from . import machine
from .cases import CASES, Case
from .machine import Bed, record
from .models import Models
from .moves import Move, Place, Predicted, Told, fingerprint, places, predicted
from .page import Fixed, page
from .scores import Pair


def main() -> None:
    chosen = _chosen()
    families = _families(case for case in CASES if chosen.only in case.name)[: chosen.families]
    on_nodes = any(case.nodes for family in families for case in family)
    beds = machine.beds(chosen.beds, chosen.slow, chosen.far, on_nodes)
    # nodes have /tmp of their own
    with tempfile.TemporaryDirectory(prefix="predictions-", dir=ROOT / "build") as place:
        folder = Path(place)
        models = Models(
            chosen.models or folder, chosen.budget, chosen.seed, chosen.oldest_minutes * 60
        )
        if not families:
            models.of(beds)
        fixed: list[Fixed] = []
        pairs: list[Pair] = []
        declined = 0
        # family by family, so that a run that is interrupted leaves a page of what it measured
        for family in families:
            told = _predicted(family, beds, models, folder)
            declined += len(told.declined)
            fixed.append(_fix(family, told))
            pairs += _measured(told.predicted, chosen.rounds, folder)
            head = _head(beds, chosen.rounds, on_nodes)
            written = page(pairs, declined, fixed, models.calibrated, _command(), head)
            if chosen.output is not None:
                chosen.output.write_text(written)
    if chosen.output is None and families:
        print(written)


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.predictions", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="the page [stdout]")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--families", type=int, help="only so many, the first; 0: models [all]")
    parser.add_argument("--beds", nargs="+", default=["local", "nfs", "single", "striped"])
    parser.add_argument("--slow", nargs="*", default=["nfs"], help="which also with slower links")
    parser.add_argument("--far", nargs="*", default=[], help="which also with longer links")
    parser.add_argument("--rounds", type=int, default=5, help="two at least")
    parser.add_argument(
        "--oldest-minutes",
        type=float,
        default=math.inf,
        help="a model that is older when a family begins is made anew [as old as it is]",
    )
    parser.add_argument("--budget", default="1m", help="of each calibration")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=Path, help="keep the models there, and use those that are")
    return parser.parse_args()


def _command() -> str:
    return "python -m tests.predictions " + " ".join(sys.argv[1:])


def _head(beds: Iterable[Bed], rounds: int, on_nodes: bool) -> dict[str, str]:
    nodes = f"{machine.NODES}, each with a client and a link of {machine.RATE}"
    return {
        "when": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}",
        **{bed.name: f"{bed.is_what}, links of {bed.links}" for bed in beds},
        **({"nodes": nodes} if on_nodes else {}),
        "rounds": str(rounds),
    }


def _families(cases: Iterable[Case]) -> list[list[Case]]:
    families: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        families.setdefault(case.family, []).append(case)
    return list(families.values())


def _predicted(family: Sequence[Case], beds: Sequence[Bed], models: Models, folder: Path) -> Told:
    found = places(family, beds)
    known = models.of(dict.fromkeys(place.bed for place in found))
    traces = {place: record(place.case, place.bed, folder).trace for place in found}
    return predicted(found, traces, known)


def _fix(family: Sequence[Case], told: Told) -> Fixed:
    """Before any of it is measured."""
    fixed = Fixed(family[0], f"{datetime.now(UTC):%H:%M}", fingerprint(told.predicted))
    print(f"predictions are fixed: {fixed}", file=sys.stderr)
    return fixed


def _measured(family: Mapping[Move, Predicted], rounds: int, folder: Path) -> list[Pair]:
    places = dict.fromkeys(place for move in family for place in (move.base, move.target))
    taken: dict[Place, list[float]] = {place: [] for place in places}
    for _ in range(rounds):
        for place, times_s in taken.items():
            times_s.append(record(place.case, place.bed, folder).elapsed_s)
    pairs = []
    for move, told in family.items():
        pair = Pair(
            move.kind, move.base.case.name, move.words,
            told.change, told.low, told.high, told.naive, told.is_open,
            tuple(taken[move.base]), tuple(taken[move.target]),
        )  # fmt: skip
        pairs.append(pair)
        print(
            f"{pair.case}, {pair.words}: predicted {pair.predicted:+.2f},"
            f" measured {pair.measured:+.2f} s: {pair.error:+.0%}"
            f" (floor {pair.floor:.0%}, bytes over rate {pair.naive_error:+.0%})",
            file=sys.stderr,
        )
    return pairs


main()
