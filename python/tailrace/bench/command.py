"""`tailrace bench`: what the user asked for becomes a session, and its answer a table or JSON."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from tailrace.bench import kernels, launcher, loader, pairs, table
from tailrace.bench.places import Places
from tailrace.bench.plan import Choices
from tailrace.bench.session import FailedRunError, Session, StoppedError, Wishes, removed_afterwards
from tailrace.bench.workload import Transfers, Workload
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.run import tell
from tailrace.shipped import WORKLOADS
from tailrace.toml_file import first_problem

DONE, BAD, STOPPED = 0, 1, 130


@dataclass(frozen=True)
class Options:
    """The command line's, as they are given."""

    ranks: int
    method: str | None
    format: str | None
    directory: Path
    read_directory: Path | None
    size: str | None
    changes: tuple[str, ...]
    hints: tuple[str, ...]
    settings: tuple[str, ...]
    repeat: int
    verify: bool
    cold: bool
    mpiexec: str | None
    keep: bool
    capture: bool
    as_json: bool
    time_limit_s: float


def show_list(as_json: bool) -> int:
    """The workloads that come with Tailrace."""
    workloads = [loader.load(name) for name in WORKLOADS.names()]
    if as_json:
        click.echo(json.dumps([table.listed(workload) for workload in workloads], ensure_ascii=False, indent=1))
    else:
        table.print_list(workloads)
    return DONE


def main(word: str, options: Options) -> int:
    """Runs the workload; 0 where it ran and every element is right."""
    workload = chosen_workload(word, options)
    try:
        answer = (_calculix if workload.program == "calculix" else _kernel)(workload, options)
    except StoppedError as error:
        tell(str(error))
        return STOPPED
    except FailedRunError as error:
        tell(str(error))
        return BAD
    if options.as_json:
        click.echo(json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=1))
    else:
        table.print_answer(answer)
    return BAD if options.verify and not answer["verified"] else DONE


def _calculix(workload: Workload, options: Options) -> dict[str, Any]:
    """The one workload that is no kernel. It has one way of writing, its own."""
    from tailrace.bench import calculix

    pairs.choose(workload, options.method, options.format)
    return calculix.answer(
        workload, options.ranks, options.directory, options.keep, options.cold, _wishes(workload, options)
    )


def _wishes(workload: Workload, options: Options) -> Wishes:
    size = size_of(workload, options)
    return Wishes(size, options.repeat, options.verify, options.capture, options.time_limit_s)


def _kernel(workload: Workload, options: Options) -> dict[str, Any]:
    check_ranks(workload, options.ranks)
    method, format_ = pairs.choose(workload, options.method, options.format)
    hints = checked_pairs("--hint", options.hints)
    settings = checked_pairs("--setting", options.settings)
    found = launcher.find(options.mpiexec)
    built = kernels.prepare(found.mpi, (method, format_), tell)
    made = Places.make(workload.name, options.directory, options.read_directory, options.keep)
    with removed_afterwards(made) as places:
        choices = Choices(
            ranks=options.ranks,
            method=method,
            format=format_,
            directory=places.output,
            read_directory=places.input,
            hints=hints,
            settings=settings,
            cold=options.cold,
            fingerprints=options.verify,
            time_limit_s=int(options.time_limit_s),
            all_interfaces=isinstance(workload.parameters, Transfers) and options.format is None,
        )
        return Session(workload, choices, _wishes(workload, options), found, built, places, tell).answer()


def size_of(workload: Workload, options: Options) -> str:
    return options.size or workload.default_size


def chosen_workload(word: str, options: Options) -> Workload:
    """The workload, in the size and with the changes that were asked for."""
    workload = loader.load(word)
    size = size_of(workload, options)
    if size not in workload.size:
        raise TailraceError(
            f"{workload.name} has no size {printable(size)!r}", f"its sizes are {', '.join(workload.size)}"
        )
    changes = {key: _value(text) for key, text in (_split("--set", change) for change in options.changes)}
    sized = loader.with_size(workload, size, changes)
    if isinstance(sized, ValidationError):
        raise _bad_change(*first_problem(sized), workload)
    for problem in loader.parameter_problems(sized):
        raise _bad_change(*problem, workload)
    return sized


def _bad_change(key: tuple[str | int, ...], text: str, workload: Workload) -> TailraceError:
    known = ", ".join(type(workload.parameters).model_fields)
    return TailraceError(f"--set {printable(str(key[0]))}: {printable(text)}", f"{workload.program} has {known}")


def _value(text: str) -> object:
    """`3`, `0.5`, `true`, `64x48x10`, `write,read`, or a word."""
    if re.fullmatch(r"\d+(x\d+)+", text):
        return [int(number) for number in text.split("x")]
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if text in ("true", "false"):
        return text == "true"
    return text.split(",") if "," in text else text


def _split(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key or not value or any(ord(character) < 32 for character in text):
        raise TailraceError(f"{option} {printable(text)!r} is not of the form key=value")
    return key, value


def checked_pairs(option: str, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("=".join(_split(option, text)) for text in given)


def check_ranks(workload: Workload, ranks: int) -> None:
    root = int(ranks**0.5 + 0.5)
    if workload.ranks == "square" and root * root != ranks:
        squares = ", ".join(str(n * n) for n in range(1, max(3, root + 2)))
        raise TailraceError(f"{workload.name} runs on a square number of ranks, not on {ranks}", f"as {squares}")
