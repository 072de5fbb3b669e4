"""The plan of a study: what is written down before the first run, and what a later start must find
unchanged."""

import json
import secrets
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import json_text
from tailrace.study.definition import design, loader, setups
from tailrace.study.definition.loader import Loaded
from tailrace.study.definition.model import SCHEMA, StudyDefinition
from tailrace.study.running import models
from tailrace.study.running.store import PLAN, STUDY, Store

SEED_BITS = 31
# What may differ when a study goes on: where its targets are mounted this time is in the
# environment.
IDENTITY = ("study", "size", "changes", "seed")


@dataclass(frozen=True)
class Plan:
    """`values` is what plan.json holds. `workload`: the word that names it, "" of a command.
    `models`: the files of those on which targets are simulated, by target."""

    values: dict[str, Any]
    study: StudyDefinition
    workload: str = ""
    models: Mapping[str, Path] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The mark of everything that this study starts or leaves on a target."""
        return self.values["identity"]

    @property
    def started_in(self) -> Path:
        return Path(self.values["started_in"])

    @property
    def targets(self) -> dict[str, str]:
        """Where targets are that the study file does not say, or says otherwise."""
        return dict(self.values.get("targets", {}))

    def design(self) -> design.Design:
        every = tuple(combination["levels"] for combination in self.values["combinations"])
        once = [
            number
            for number, levels in enumerate(every)
            if self.models and models.concerned(self.study, self.models, levels)
        ]
        return design.Design(every, self.values["seed"], frozenset(once))


def make(store: Store, loaded: Loaded, seed: int | None, targets: Mapping[str, str]) -> Plan:
    """That of the directory where there is one, which must be the same study, else a new one. Needs
    the lock.

    `targets`: what --target said, which a later start takes for granted unless it says otherwise.
    """
    if store.has(PLAN):
        values = _same(store, loaded, seed)
        _check_simulated(loaded.study, values.get("targets", {}), targets)
        return _plan(store, loaded, values)
    values = new(loaded, drawn(loaded) if seed is None else seed)
    return _plan(
        store,
        loaded,
        values | {"targets": {name: str(Path(path).absolute()) for name, path in targets.items()}},
    )


def drawn(loaded: Loaded) -> int:
    """A seed by which no combination goes first in every block: what it does could not be told from
    what being first does. Of one combination, or one block, there is none."""
    every, blocks = design.combinations(loaded.study), loaded.study.repetitions
    seed = secrets.randbits(SEED_BITS)
    while len(every) > 1 and blocks > 1 and _one_goes_first(design.Design(every, seed), blocks):
        seed = secrets.randbits(SEED_BITS)
    return seed


def _one_goes_first(made: design.Design, blocks: int) -> bool:
    return len({made.block(number)[0].combination for number in range(blocks)}) == 1


def _plan(store: Store, loaded: Loaded, values: dict[str, Any]) -> Plan:
    file = workload_file(store, loaded)
    word = str(file) if file is not None else loaded.study.run.workload or ""
    return Plan(values, loaded.study, word, _models(store, loaded, values.get("targets", {})))


def _models(store: Store, loaded: Loaded, given: Mapping[str, str]) -> dict[str, Path]:
    """The copies that the study keeps, at first the files that it names."""
    answer = {}
    for name in models.simulated(loaded.study, given):
        kept = store.directory / models.kept_name(name)
        word = str(loaded.study.target[name].simulate)
        answer[name] = kept if kept.is_file() else models.path_of(word, loaded.path.parent)
    return answer


def _check_simulated(
    study: StudyDefinition, before: Mapping[str, str], given: Mapping[str, str]
) -> None:
    """A target that was simulated so far is not run in the rest of the study."""
    now = models.simulated(study, {**before, **given})
    for name in models.simulated(study, before):
        if name not in now:
            raise TailraceError(
                f"--target {printable(name)}: this study simulates {printable(name)}",
                "begin another with -o to run it",
            )


def write(store: Store, loaded: Loaded, plan: Plan) -> None:
    """Once, before the first run, and after everything was checked: a study that cannot run leaves
    none."""
    if not store.has(PLAN):
        if (workload := workload_file(store, loaded)) is not None:
            store.write(workload.name, workload.read_text("utf-8"))
        for name, path in plan.models.items():
            store.write(models.kept_name(name), path.read_text("utf-8"))
        store.write(STUDY, loaded.text)
        store.write(PLAN, json_text(plan.values))


def workload_file(store: Store, loaded: Loaded) -> Path | None:
    """Of a study whose workload is a file: the copy that the study keeps, at first the file beside
    the study's own."""
    word = loaded.study.run.workload
    if word is None or not word.endswith(".toml"):
        return None
    kept = store.directory / Path(word).name
    return kept if kept.is_file() else loaded.path.parent / word


def stored(store: Store) -> Plan:
    """The plan of a directory, for who only reads it or goes on with it."""
    if not store.has(PLAN):
        raise _no_study(f"{printable(str(store.directory))}: there is no study here")
    values = store.read_json(PLAN)
    if not isinstance(values, dict) or "schema" not in values:
        raise _no_study(f"{printable(str(store.directory / PLAN))} is not the plan of a study")
    if values["schema"] != SCHEMA:
        raise TailraceError(
            f"{printable(str(store.directory / PLAN))} has schema"
            f" {printable(repr(values['schema']))}; this version of Tailrace reads {SCHEMA}",
            "pip install --upgrade tailrace",
        )
    loaded = loader.load(store.directory / STUDY, values["size"] or None, values["changes"])
    return _plan(store, loaded, values)


def _no_study(sentence: str) -> TailraceError:
    return TailraceError(
        sentence,
        "give the directory of a study, as made by `tailrace study run`; "
        "`tailrace report` reads traces",
    )


def _same(store: Store, loaded: Loaded, seed: int | None) -> dict[str, Any]:
    values = store.read_json(PLAN)
    wanted = _described(loaded) | {"seed": values.get("seed") if seed is None else seed}
    differing = [key for key in IDENTITY if values.get(key) != wanted[key]]
    if values.get("schema") != SCHEMA or differing:
        what = ", ".join(differing) or "schema"
        raise TailraceError(
            f"{printable(str(store.directory))} holds another study: its {what} differs",
            "choose another directory with -o, or continue the study with `tailrace study run DIR`",
        )
    return values


def _described(loaded: Loaded) -> dict[str, Any]:
    """As it reads back from JSON."""
    study = loaded.study.model_dump(mode="json", by_alias=True, exclude={"size"})
    return json.loads(
        json.dumps({"study": study, "size": loaded.size, "changes": dict(loaded.changes)})
    )


def new(loaded: Loaded, seed: int) -> dict[str, Any]:
    """What plan.json says of a study that begins, but where its targets are."""
    from tailrace import __version__

    study = loaded.study
    combinations = design.combinations(study)
    return {
        "schema": SCHEMA,
        "identity": uuid.uuid4().hex,
        "name": study.name,
        "description": study.description,
        "paper": study.paper,
        "size": loaded.size,
        "changes": dict(loaded.changes),
        "seed": seed,
        "response": study.response,
        "factors": [_factor(study, name) for name in study.factor],
        "combinations": [
            {"combination": number, "levels": levels} for number, levels in enumerate(combinations)
        ],
        "repetitions": study.repetitions,
        "study": _described(loaded)["study"],
        "started_in": str(Path.cwd()),
        "versions": {"tailrace": __version__},
    }


def _factor(study: StudyDefinition, name: str) -> dict[str, Any]:
    factor = study.factor[name]
    return {
        "name": name,
        "kind": setups.kind(study, name),
        "unit": factor.unit,
        "levels": factor.levels,
        "labels": [setups.label(factor, level) for level in factor.levels],
    }
