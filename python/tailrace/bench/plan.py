"""The parts that the plans of all kernels share. kernels/README.md states their keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tailrace.bench.workload import Workload
from tailrace.errors import TailraceError
from tailrace.names import printable


@dataclass(frozen=True)
class Choices:
    """What the user chose for a run. `directory` and `read_directory` are this run's own."""

    ranks: int
    method: str
    format: str
    directory: Path
    read_directory: Path
    hints: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    cold: bool = False
    fingerprints: bool = True
    time_limit_s: int = 0
    all_interfaces: bool = False


def head(workload: Workload, choices: Choices) -> Iterator[str]:
    """What every plan begins with."""
    for path in (choices.directory, choices.read_directory):
        if any(ord(character) < 32 for character in str(path)):
            raise TailraceError(
                f"{printable(str(path))}: a directory's name may not hold line breaks or tabs"
            )
    yield f"# tailrace bench {workload.name}, on {choices.ranks} ranks"
    yield f"name {workload.name}"
    yield f"cache {'cold' if choices.cold else 'warm'}"
    yield f"fingerprints {yes(choices.fingerprints)}"
    if choices.time_limit_s:
        yield f"time_limit_s {choices.time_limit_s}"


def section(kind: str, name: str, path: Path, choices: Choices) -> Iterator[str]:
    """A file that gridio writes or reads."""
    yield f"{kind} {name}"
    yield f"path {path}"
    yield f"method {choices.method}"
    yield f"format {choices.format}"
    yield from given(choices)


def given(choices: Choices) -> Iterator[str]:
    yield from (f"hint {hint}" for hint in choices.hints)
    yield from (f"setting {setting}" for setting in choices.settings)


def numbers(table: object, *keys: str) -> Iterator[str]:
    yield from (f"{key} {getattr(table, key)}" for key in keys)


def access(choices: Choices) -> str:
    return "collective" if choices.method == "collective" else "independent"


def yes(value: bool) -> str:
    return "yes" if value else "no"


def by(sizes: list[int]) -> str:
    return "x".join(map(str, sizes))


def cadence_problems(steps: int, cadences: list[int]) -> Iterator[tuple[str, str]]:
    """Of a program that writes every so many steps."""
    for every in cadences:
        if every > steps:
            yield (
                "steps",
                f"{steps} steps, and {every} between two outputs: nothing is written",
            )
