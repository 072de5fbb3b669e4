"""Several places in words: as a product of levels where they are one."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tailrace.study.analysis import words
from tailrace.study.analysis.measured import Measured

EVERYWHERE = "everywhere"


def where_words(study: Measured, places: Sequence[Mapping[str, Any]]) -> str:
    """The places in words, as a product of levels where they are one; factors with all their levels
    are not named."""
    of_levels = product(study, places)
    if of_levels is not None:
        named = {
            factor.name: of_levels[factor.name]
            for factor in study.varied
            if 0 < len(of_levels.get(factor.name, ())) < len(factor.levels)
        }
        return words.conditions(study.factors, named) or EVERYWHERE
    varied = [factor.name for factor in study.varied]
    kept = [{name: place[name] for name in varied if name in place} for place in places]
    texts = [words.places(study.factors, place) for place in kept[:4]]
    return "; ".join(texts + ["…"] * (len(kept) > 4))


def product(study: Measured, places: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]] | None:
    """The levels of each factor whose combinations these places are; None where they are no such
    product."""
    levels = {
        factor.name: [
            level for level in factor.levels if any(place[factor.name] == level for place in places)
        ]
        for factor in study.varied
        if factor.name in places[0]
    }
    return levels if math.prod(map(len, levels.values())) == len(places) else None
