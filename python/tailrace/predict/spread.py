"""By how much one run differs from the next, where nothing was changed. All hold nine of ten."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from tailrace.predict.model import Model

NINE_OF_TEN = 1.645  # standard deviations
# The standard deviation between runs of one program: as a share of the run, for what waits for
# what else goes on; and of each part, of which one run shows no more than one draw.
RUN_NOISE = 0.02
PART_NOISE = 0.08
# By so much of the run where nothing is known of its file system; what it does beside its files
# makes no more.
RUN_TO_RUN = 0.05


class Own(NamedTuple):
    """The model of the file system that was used, and by what share files differ there."""

    model: Model
    directory: Path
    of_files: float


def own(models: Iterable[Model], has_files_in: Callable[[Path], bool]) -> Own | None:
    """Of these models the one that was measured where there are files, if it says how much they
    differ."""
    say = (model for model in models if model.held_out.run_to_run is not None)
    found = model_of_files(say, has_files_in)
    of_files = found[0].held_out.run_to_run if found is not None else None
    return Own(*found, of_files) if found is not None and of_files is not None else None


def model_of_files(
    models: Iterable[Model], has_files_in: Callable[[Path], bool]
) -> tuple[Model, Path] | None:
    """Of these models the one that was measured where there are files, and where that is."""
    for model in models:
        if model.directory is not None and has_files_in(Path(model.directory)):
            return model, Path(model.directory)
    return None


def share(files: float, of_files: float | None) -> float:
    """Of a run that spends such a share of its time in files, which differ by `of_files`; None
    where that was not measured."""
    if of_files is None:
        return RUN_TO_RUN
    others = min(NINE_OF_TEN * PART_NOISE * (1 - files), RUN_TO_RUN)
    return math.hypot(of_files * files, others)
