"""A TOML file of the user's, checked against a model: what is wrong in it is reported with file,
line and key."""

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.toml_lines import Lines
from tailrace.toml_lines import Path as KeyPath

MOST_SHOWN = 80
# Larger ones are none that anybody wrote; a device has no end.
MOST_BYTES = 1 << 20
Problem = tuple[KeyPath, str]
Model = TypeVar("Model", bound=BaseModel)


class Source:
    """A file's text, values and lines. `what` it should be; `reference` says where its keys are
    listed."""

    def __init__(self, path: Path, what: str, reference: str) -> None:
        self.path, self.reference = path, reference
        try:
            self.text = _text(path, what, reference)
            self.values: dict[str, Any] = tomllib.loads(self.text)
        except OSError as error:
            raise TailraceError(
                f"{printable(str(path))} cannot be read: {error.strerror}"
            ) from None
        except UnicodeDecodeError as error:
            raise TailraceError(
                f"{printable(str(path))}, byte {error.start}: this is not UTF-8 text",
                f"{what} is a TOML file",
            ) from None
        except tomllib.TOMLDecodeError as error:
            raise TailraceError(
                f"{printable(str(path))}: this is not valid TOML: {error}", reference
            ) from None
        except RecursionError:
            raise TailraceError(
                f"{printable(str(path))}: this is not valid TOML: tables or lists are nested too"
                " deeply",
                reference,
            ) from None

    def fail(self, problem: Problem) -> TailraceError:
        key, text = problem
        place = f"{printable(str(self.path))}, line {Lines(self.text).of(key)}"
        return TailraceError(
            f"{place}: {printable(f'{dotted(key)}: ' if key else '')}{printable(text)}",
            self.reference,
        )

    def validated(self, model: type[Model], values: object) -> Model:
        try:
            return model.model_validate(values)
        except ValidationError as error:
            raise self.fail(first_problem(error)) from None


def _text(path: Path, what: str, reference: str) -> str:
    """With lines that end in one way."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise TailraceError(f"{printable(str(path))} is too large to be {what}", reference)
    return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def first_problem(error: ValidationError) -> Problem:
    """The first thing that is wrong, in this project's words where pydantic's speak of Python."""
    # A key that is misspelt is also one that is missing: the former is what to look at.
    first = min(
        error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden"
    )
    key: KeyPath = tuple(part for part in first["loc"] if part != "[key]")
    match first["type"]:
        case "extra_forbidden":
            return key, "there is no such key"
        case "missing":
            return key, "is missing"
        case "list_type":
            return key, f"should be a list, as in [1, 2], not {_shown(first['input'])}"
        case "model_type" | "dict_type":
            return key, f"should be a table, not {_shown(first['input'])}"
        case "string_pattern_mismatch":
            return (
                key,
                f"{_shown(first['input'])} is not a valid name: letters, digits, _ and - after "
                "a letter; no blanks in units",
            )
    words = (
        first["msg"]
        .removeprefix("Value error, ")
        .replace("Input should be", "should be")
        .replace("List", "list")
    )
    return key, f"{words}, not {_shown(first['input'])}"


def _shown(given: object) -> str:
    """What a file says, however long that is."""
    text = repr(given)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def dotted(key: KeyPath) -> str:
    """`output[1].variable[0].type`, elements counted from 1 as people do."""
    text = ""
    for part in key:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text
