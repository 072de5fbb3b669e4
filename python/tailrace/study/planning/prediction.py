"""What each combination would take, as far as there is a model of where it writes."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.predict.model import Model
from tailrace.study.analysis.contenders import Timed
from tailrace.study.definition import design
from tailrace.study.definition.columns import RUN_TIME
from tailrace.study.definition.loader import Loaded
from tailrace.study.definition.setups import Setup, setup
from tailrace.study.running import models
from tailrace.study.running.simulated_run import SimulatedRuns

ANY = ""
NO_MODEL = "there is no model of"


class Predicted(NamedTuple):
    """Of one combination. Without a prediction its time is from nothing to for ever, and `why` says
    why there is none. `together`: so many calls of a rank were taken as one."""

    timed: Timed
    why: str = ""
    model: str = ""
    together: int = 1

    @property
    def known(self) -> bool:
        return not self.why


def check(loaded: Loaded) -> None:
    """Raises TailraceError where nothing can be predicted of a study."""
    study = loaded.study
    if study.run.workload is None:
        raise TailraceError(
            f"{study.name} runs a command, which cannot be predicted",
            "study plan is for studies of a workload",
        )
    if study.response != RUN_TIME:
        raise TailraceError(
            f"{study.name} is about {study.response}, and predictions are of {RUN_TIME}",
            f"for a plan that decides {RUN_TIME}: --set response={RUN_TIME}",
        )


def chosen_models(loaded: Loaded, given: Sequence[str]) -> dict[str | None, Model]:
    """By target: those that --model names (`given`), relative to where we are, and for the others
    those that the study file names."""
    study, beside = loaded.study, loaded.path.parent
    words = _by_target(loaded, given)
    paths: dict[str, Path] = {
        name: models.path_of(str(study.target[name].simulate), beside)
        for name in models.simulated(study, ())
    }
    everywhere = words.pop(ANY, None)
    if everywhere is not None:
        words = dict.fromkeys(study.target, everywhere) | words
    answer = models.loaded(
        paths | {name: models.path_of(word, Path()) for name, word in words.items()}
    )
    if everywhere is not None and not study.target:
        answer[None] = models.loaded({"everywhere": models.path_of(everywhere, Path())})[
            "everywhere"
        ]
    if not answer:
        raise TailraceError(
            f"there is no model of any target of {study.name}, so nothing can be predicted",
            "say --model TARGET=MODEL: a file of `tailrace calibrate`, or a name such as lustre",
        )
    return answer


def _by_target(loaded: Loaded, given: Sequence[str]) -> dict[str, str]:
    answer: dict[str, str] = {}
    for text in given:
        name, equals, word = text.partition("=")
        if not equals:
            name, word = ANY, text
        if name in answer:
            raise TailraceError(
                f"--model names {printable(name) or 'every target'} twice",
                "give one model for each target",
            )
        if equals and name not in loaded.study.target:
            known = ", ".join(loaded.study.target) or "none"
            raise TailraceError(
                f"--model {printable(text)}: {loaded.study.name} has no target {printable(name)}",
                f"its targets are {known}",
            )
        answer[name] = word
    return answer


def predictions(loaded: Loaded, known: Mapping[str | None, Model]) -> list[Predicted]:
    """Of every combination, in the order of the file. Raises TailraceError where there is none at
    all, and for what could not be run either."""
    word = loaded.study.run.workload or ""
    beside = str(loaded.path.parent / word) if word.endswith(".toml") else word
    simulation = SimulatedRuns(loaded.study, known, beside)
    made = [setup(loaded.study, levels) for levels in design.combinations(loaded.study)]
    for one in made:  # what could not be run
        simulation.pair(one)
    found = [_predicted(simulation, one, known) for one in made]
    if not any(one.known for one in found):
        # of one that has a model, where there is any
        whys = [one.why for one in found]
        why = next((why for why in whys if not why.startswith(NO_MODEL)), whys[0])
        raise TailraceError(
            f"no combination of {loaded.study.name} can be predicted: {why}",
            "docs/reference/simulate.md has the methods, formats, settings and hints that are"
            " simulated",
        )
    return found


def _predicted(
    simulation: SimulatedRuns, made: Setup, known: Mapping[str | None, Model]
) -> Predicted:
    if made.target not in known:
        unknown = Timed(made.levels, math.nan, 0.0, math.inf)
        return Predicted(unknown, f"{NO_MODEL} {made.target or 'where it writes'}")
    try:
        found = simulation.predicted(made)
    except TailraceError as error:
        return Predicted(Timed(made.levels, math.nan, 0.0, math.inf), error.message)
    timed = Timed(made.levels, found.predicted_s, *found.interval_s)
    return Predicted(timed, "", known[made.target].name, found.together)
