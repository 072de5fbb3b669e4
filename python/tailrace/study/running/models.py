"""The models on which targets of a study are simulated: which, and where their files are."""

from collections.abc import Collection, Mapping
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.predict.model import Model, load
from tailrace.shipped import MODELS
from tailrace.study.definition.model import Level, StudyDefinition
from tailrace.study.definition.setups import setup


def simulated(study: StudyDefinition, given: Collection[str]) -> list[str]:
    """The targets that are simulated: not those of which --target says a directory (`given`)."""
    return [
        name
        for name, target in study.target.items()
        if target.simulate is not None and name not in given
    ]


def concerned(
    study: StudyDefinition, targets: Collection[str], levels: Mapping[str, Level]
) -> bool:
    """Whether a combination writes to one of these targets, or reads from it."""
    made = setup(study, levels)
    return made.target in targets or made.read_target in targets


def path_of(word: str, beside: Path) -> Path:
    """The model that a study file names: one that comes with Tailrace, or a file relative to it."""
    return beside / word if Path(word).suffix == ".toml" else MODELS.find(word)


def kept_name(target: str) -> str:
    """Of the copy that a study's directory keeps."""
    return f"model-{target}.toml"


def loaded(paths: Mapping[str, Path]) -> dict[str | None, Model]:
    """Raises TailraceError with the target, and what is wrong with its model."""
    answer: dict[str | None, Model] = {}
    for target, path in paths.items():
        try:
            answer[target] = load(path)
        except TailraceError as error:
            raise TailraceError(f"target {target}: {error.message}", error.hint) from None
    return answer
