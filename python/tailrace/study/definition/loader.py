"""Loads a study: by name from those that come with Tailrace, or from a file of the user's, in a
size and with changes. What is wrong in it is told with file, line and key.
"""

import copy
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.study.definition.model import SCHEMA, StudyDefinition
from tailrace.study.definition.problems import problems
from tailrace.toml_file import Problem, Source, dotted, first_problem
from tailrace.toml_lines import Path as KeyPath

REFERENCE = "docs/reference/studies.md lists the keys and their values"


@dataclass(frozen=True)
class Loaded:
    """`size` is "" where the file has none. `changes`: the keys that --set gave, dotted, and their
    values."""

    study: StudyDefinition
    path: Path
    text: str
    size: str
    changes: Mapping[str, object] = field(default_factory=dict)


def load(
    path: Path, size: str | None = None, changes: Mapping[str, object] | None = None
) -> Loaded:
    """The study of that file, checked in every size that it has, in the one that is wanted."""
    source = Source(path, "a study", REFERENCE)
    _check_schema(source)
    for name in (
        source.values.get("size", {}) if isinstance(source.values.get("size"), dict) else {}
    ):
        _checked(source, name, {})
    plain = _checked(source, "", {})
    chosen = size or plain.default_size or ("small" if "small" in plain.size else "")
    if chosen and chosen not in plain.size:
        sizes = ", ".join(plain.size)
        raise TailraceError(
            f"{plain.name} has no size {printable(chosen)!r}",
            f"its sizes are {sizes}" if sizes else "it has no sizes",
        )
    return Loaded(
        _checked(source, chosen, dict(changes or {})),
        path.absolute(),
        source.text,
        chosen,
        dict(changes or {}),
    )


def _check_schema(source: Source) -> None:
    schema = source.values.get("schema")
    if type(schema) is int and schema > SCHEMA:
        raise TailraceError(
            source.fail(
                (
                    ("schema",),
                    f"{schema} needs a newer Tailrace; this version reads {SCHEMA}",
                )
            ).message,
            "pip install --upgrade tailrace",
        )


def _checked(source: Source, size: str, changes: dict[str, object]) -> StudyDefinition:
    """The study with what the size, and after it the changes, say."""
    values = copy.deepcopy(source.values)
    over = values.get("size", {}).get(size, {}) if size else {}
    if isinstance(over, dict):
        _merge(values, over)
    for key, value in changes.items():
        _merge(values, _nested(key.split("."), value))
    try:
        study = StudyDefinition.model_validate(values)
        found = next(problems(study, list(_all_levels(source.values))), None)
    except ValidationError as error:
        found = first_problem(error)
    if found is None and study.name != source.path.stem and source.path.name != "study.toml":
        found = ("name",), f"is {study.name!r}, but must be the file's name, {source.path.stem!r}"
    if found is not None:
        raise _failure(source, size, changes, values, found)
    return study


def _all_levels(values: Mapping[str, Any]) -> Iterator[dict[str, list[Any]]]:
    """The factors' levels as the file has them, in itself and in its sizes."""
    sizes = values.get("size", {})
    for table in [values, *(sizes.values() if isinstance(sizes, dict) else ())]:
        factors = table.get("factor", {}) if isinstance(table, dict) else {}
        yield {
            name: factor["levels"]
            for name, factor in (factors.items() if isinstance(factors, dict) else ())
            if isinstance(factor, dict) and isinstance(factor.get("levels"), list)
        }


def _failure(
    source: Source, size: str, changes: dict[str, object], values: dict[str, Any], problem: Problem
) -> TailraceError:
    """Told where the value comes from: --set, the size's table, or the file's own."""
    key, text = problem
    key = _existing(values, key, text == "is missing")
    changed = next((given for given in changes if _within(key, tuple(given.split(".")))), None)
    if changed is not None:
        return TailraceError(
            f"--set {printable(changed)}: {printable(f'{dotted(key)}: {text}')}", REFERENCE
        )
    of_size: KeyPath = ("size", size, *key)
    return source.fail((of_size if size and _has(source.values, of_size) else key, text))


def _merge(values: dict[str, Any], over: Mapping[str, Any]) -> None:
    """Tables are merged, everything else is replaced."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(values.get(key), dict):
            _merge(values[key], value)
        else:
            values[key] = copy.deepcopy(value)


def _nested(keys: list[str], value: object) -> dict[str, object]:
    first, *rest = keys
    return {first: _nested(rest, value) if rest else value}


def _within(key: KeyPath, outer: KeyPath) -> bool:
    """Whether one of the two paths lies in the other."""
    return all(part == other for part, other in zip(key, outer, strict=False))


def _has(values: Any, key: KeyPath) -> bool:
    return len(_existing(values, key, False)) == len(key)


def _existing(values: Any, key: KeyPath, one_more: bool) -> KeyPath:
    """As much of the path as the file has: the model's own alternatives of a type are no keys.
    `one_more`: a key that is missing belongs to it.
    """
    for length, part in enumerate(key):
        inside = isinstance(values, dict) and part in values
        if not inside and not (
            isinstance(values, list) and isinstance(part, int) and part < len(values)
        ):
            return key[: length + one_more]
        values = values[part]
    return key


def parsed_change(text: str) -> tuple[str, object]:
    """`repetitions=5`, `run.set.steps=10`, `factor.ranks.levels=[1, 2]`: values as TOML has them,
    or a plain word."""
    key, equals, value = text.partition("=")
    if not equals or not key or not value or any(ord(character) < 32 for character in text):
        raise TailraceError(f"--set {printable(text)!r} is not of the form KEY=VALUE", REFERENCE)
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value
