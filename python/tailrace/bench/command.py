"""`tailrace bench`: what the user asked for becomes a session, and its answer a table or JSON."""

import re
from typing import Any

from tailrace.bench import loader, pairs, programs, table
from tailrace.bench.failures import FailedRunError, InterruptedRunError
from tailrace.bench.one_run import Conditions, Pass
from tailrace.bench.options import BenchOptions
from tailrace.bench.places import Places
from tailrace.bench.plan import Choices
from tailrace.bench.session import Session, removed_afterwards
from tailrace.bench.workload import Workload
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import print_json
from tailrace.shipped import WORKLOADS
from tailrace.terminal import tell
from tailrace.usage import BAD, DONE, STOPPED


def show_list(as_json: bool) -> int:
    """The workloads that come with Tailrace."""
    workloads = [loader.load(name) for name in WORKLOADS.names()]
    if as_json:
        print_json([table.listed(workload) for workload in workloads])
    else:
        table.print_list(workloads)
    return DONE


def main(word: str, options: BenchOptions) -> int:
    """Runs the workload; 0 where it ran and every element is right."""
    values = changed_values(options.changes)
    workload = loader.sized(loader.load(word), options.size, values, "--set ")
    try:
        answer = _answer(workload, options)
    except InterruptedRunError as error:
        tell(str(error))
        return STOPPED
    except FailedRunError as error:
        tell(str(error))
        return BAD
    if options.as_json:
        print_json(answer)
    else:
        table.print_answer(answer, options.everything)
    return BAD if options.verify and not answer["verified"] else DONE


def _answer(workload: Workload, options: BenchOptions) -> dict[str, Any]:
    """The object of docs/schema/bench.json."""
    loader.check_ranks(workload, options.ranks)
    method, format_ = pairs.choose(workload, options.method, options.format)
    hints = checked_pairs("--hint", options.hints)
    settings = checked_pairs("--setting", options.settings)
    program = programs.of(workload)
    made = Places.make(workload.name, options.directory, options.read_directory, options.keep)
    with removed_afterwards(made) as places:  # made first: a wrong --dir is seen before compiling
        installed = program.find(options.mpiexec, (method, format_))
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
            all_interfaces=program.covers_all_formats and options.format is None,
        )
        conditions = Conditions(
            installed,
            time_limit_s=options.time_limit_s,
            passes=tuple(Pass) if options.verify else (),
            page=True,
            progress=True,
            replay={
                "eager_limit_bytes": options.eager_limit_bytes,
                "collectives": options.collectives,
            },
        )
        size = options.size or workload.default_size
        session = Session(
            workload, size, choices, conditions, places, options.repeat, options.capture
        )
        return session.answer()


def changed_values(given: tuple[str, ...]) -> dict[str, object]:
    """What `--set` changes, by key."""
    return {key: _value(text) for key, text in (_split("--set", change) for change in given)}


def _value(text: str) -> object:
    """`3`, `true`, `64x48x10`, `write,read`, or a word."""
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
        raise TailraceError(
            f"{option} {printable(text)!r} is not of the form key=value",
            f"as in {option} name=1",
        )
    return key, value


def checked_pairs(option: str, given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("=".join(_split(option, text)) for text in given)
