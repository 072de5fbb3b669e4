"""What is changed, and what Tailrace says of it before it is measured."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Literal, NamedTuple

import tailrace
from tailrace import engine
from tailrace.predict.change import Change
from tailrace.predict.methods import NothingError, Way
from tailrace.predict.model import Model
from tailrace.predict.ranks import read
from tailrace.predict.whatif import Prediction, Run

from .cases import Case
from .machine import Bed

Kind = Literal["file system", "link", "method", "aggregators", "ranks", "cache"]
# Laws of the number of ranks need so many.
LEAST_COUNTS = 3


class Place(NamedTuple):
    """What is measured: a case on a bed."""

    case: Case
    bed: Bed


class Move(NamedTuple):
    kind: Kind
    base: Place
    target: Place

    @property
    def words(self) -> str:
        """What changes: from where to where."""
        case, other = self.base.case, self.target.case
        named = {
            "file system": (self.base.bed.name, self.target.bed.name),
            "link": (self.base.bed.name, self.target.bed.name),
            "method": (case.method, other.method),
            "aggregators": (_writers(case), _writers(other)),
            "ranks": (case.ranks, other.ranks),
            "cache": (case.cache, other.cache),
        }[self.kind]
        where = f" on {self.base.bed.name}" if case != other else ""
        return f"{named[0]} to {named[1]}{where}"


def _writers(case: Case) -> str:
    return f"{case.aggregators or 1} of {case.ranks}"


@dataclass(frozen=True)
class Predicted:
    """What a move adds to a run, s. `naive`: what its bytes over the rates of the two file systems
    do. `is_open`: `whatif` says that it cannot tell whether the run becomes longer or shorter."""

    change: float
    low: float
    high: float
    naive: float
    is_open: bool


class Told(NamedTuple):
    """`declined`: moves that nothing is said of, with the reason."""

    predicted: dict[Move, Predicted]
    declined: dict[Move, str]


def places(family: Sequence[Case], beds: Sequence[Bed]) -> list[Place]:
    """Where each case of a family is measured. What other links change is much the same for all of
    them, and asked of the first, unless it has beds of its own: it is there for other changes."""
    return [
        Place(case, bed)
        for case in family
        for bed in beds
        if _is_on(case, bed) and (not bed.has_other_link or (case == family[0] and not case.beds))
    ]


def _is_on(case: Case, bed: Bed) -> bool:
    return not case.beds or bed.bed in case.beds


def moves(places: Sequence[Place]) -> Iterator[Move]:
    """All whose base and target differ in one thing. On nodes only more ranks are asked of: models
    are of one client."""
    alone = [place for place in places if not place.case.nodes]
    for base, target in permutations(alone, 2):
        if (kind := _kind(base, target)) is not None:
            yield Move(kind, base, target)
    yield from _more_ranks(places)


def _kind(base: Place, target: Place) -> Kind | None:
    if base.case == target.case:
        is_link = base.bed.bed == target.bed.bed
        # of other links only what these change is asked
        if base.bed.has_other_link or target.bed.has_other_link:
            return "link" if is_link else None
        return "file system"
    if base.bed != target.bed or base.bed.has_other_link or base.case.family != target.case.family:
        return None
    if replace(base.case, method=target.case.method) == target.case:
        return "method"
    if replace(base.case, aggregators=target.case.aggregators) == target.case:
        return "aggregators"
    return "cache" if replace(base.case, cache=target.case.cache) == target.case else None


def _more_ranks(places: Sequence[Place]) -> Iterator[Move]:
    """To each number that has enough below it, from all of these: the base is the most of them."""
    alike: dict[tuple[Case, Bed], list[Place]] = {}
    for place in places:
        alike.setdefault((replace(place.case, ranks=0), place.bed), []).append(place)
    for found in alike.values():
        if not found[0].bed.has_other_link:
            ordered = sorted(found, key=lambda place: place.case.ranks)
            for base, target in pairwise(ordered[LEAST_COUNTS - 1 :]):
                yield Move("ranks", base, target)


def predicted(
    places: Sequence[Place], traces: Mapping[Place, Path], models: Mapping[Bed, Model]
) -> Told:
    """From one trace of each place, as users have one."""
    known = list(models.values())
    columns = {place: engine.analyze(traces[place], critical_paths=False) for place in places}
    runs = {place: Run.of(traces[place], columns[place], known, outputs=True) for place in places}
    found: dict[Move, Predicted] = {}
    declined: dict[Move, str] = {}
    for move in moves(places):
        if move.kind == "ranks":
            told, measured_s = _on_more_ranks(move, places, traces, known)
        else:
            run = runs[move.base]
            try:
                told, measured_s = run.predict(_change(move, models)), run.measured_s
            except NothingError as reason:
                print(f"{move.base.case.name}, {move.words}: {reason}", file=sys.stderr)
                declined[move] = str(reason)
                continue
        found[move] = Predicted(
            told.predicted_s - measured_s,
            *told.change_interval_s(measured_s),
            _naive(traces[move.base], move, models),
            told.is_open(measured_s),
        )
    return Told(found, declined)


def _change(move: Move, models: Mapping[Bed, Model]) -> Change:
    case = move.target.case
    change = Change(
        target=models[move.target.bed], directory=move.base.bed.directory, cache=case.cache
    )
    if move.kind not in ("method", "aggregators"):
        return change
    return replace(change, way=Way(case.method, case.aggregators or None))


def _on_more_ranks(
    move: Move, places: Sequence[Place], traces: Mapping[Place, Path], models: Sequence[Model]
) -> tuple[Prediction, float]:
    case, bed = move.base
    fewer = [
        place
        for place in places
        if place.bed == bed
        and place.case.ranks <= case.ranks
        and replace(place.case, ranks=case.ranks) == case
    ]
    runs = read([traces[place] for place in fewer], None, models)
    return runs.predict(move.target.case.ranks), runs.measured_s


def _naive(trace: Path, move: Move, models: Mapping[Bed, Model]) -> float:
    directory = move.base.bed.directory
    files = tailrace.open(trace).files
    moved = files[[Path(path).is_relative_to(directory) for path in files["path"]]]
    written, read_ = float(moved["bytes_written"].sum()), float(moved["bytes_read"].sum())

    def takes_s(bed: Bed) -> float:
        rates = models[bed].bytes_per_s
        return written / rates.write.value + read_ / rates.read.value

    return takes_s(move.target.bed) - takes_s(move.base.bed)


def fingerprint(found: Mapping[Move, Predicted]) -> str:
    plain = {
        f"{move.base.case.name}: {move.words}": vars(prediction)
        for move, prediction in found.items()
    }
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
