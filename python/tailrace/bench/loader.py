"""Loads a workload: by name from those that come with Tailrace, or from a file of the user's. An
error names file, line and key.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from tailrace.bench import programs
from tailrace.bench.gridio import VARIABLES_AT_MOST
from tailrace.bench.workload import PROGRAMS, Input, Output, Solver, Variable, Workload
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.shipped import WORKLOADS
from tailrace.toml_file import Problem, Source, first_problem
from tailrace.toml_lines import Path as KeyPath

HORIZONTAL = r"[xy](\+1)?"
REFERENCE = "docs/reference/workloads.md lists the keys and their values"


def load(word: str) -> Workload:
    """The workload of that name or path, checked, in every size that it has."""
    source = Source(WORKLOADS.find(word), "a workload", REFERENCE)
    workload = source.validated(Workload, source.values)
    for problem in _problems(workload, source):
        raise source.fail(problem)
    return workload


def _problems(workload: Workload, source: Source) -> Iterator[Problem]:
    """What single values cannot tell: how they go together."""
    if workload.name != source.path.stem:
        yield ("name",), f"should be the file's name, {source.path.stem!r}, not {workload.name!r}"
    if getattr(workload, workload.program) is None:
        yield (workload.program,), "is missing"
    for program in PROGRAMS:
        if program != workload.program and getattr(workload, program) is not None:
            yield (program,), f"program is {workload.program!r}"
    if workload.default_size not in workload.size:
        yield ("default_size",), f"there is no [size.{workload.default_size}]"
    for name in workload.size:
        sized, origin = with_size(workload, name), ("size", name)
        if isinstance(sized, ValidationError):
            key, text = first_problem(sized)
            yield (*origin, *key), text
        else:
            yield from _parameter_problems(sized, origin)
    yield from _stream_problems(workload)


def with_size(
    workload: Workload, name: str, changes: Mapping[str, object] | None = None
) -> Workload | ValidationError:
    """The workload with the keys that this size, and after it `changes`, give to its program."""
    table = workload.parameters
    values = table.model_dump(exclude_none=True) | workload.size[name] | dict(changes or {})
    try:
        made = workload.model_copy(update={workload.program: type(table).model_validate(values)})
    except ValidationError as error:
        return error
    return made if made.solver is None else _with_outputs(made, made.solver)


def _with_outputs(workload: Workload, table: Solver) -> Workload:
    """What is written, as the program's own table wants it: all switches of one type, and what is
    not tiled or not."""
    if table.switches is None and table.untiled:
        return workload
    streams = [
        stream.model_copy(
            update={
                "variable": [
                    _typed(variable, table)
                    for variable in stream.variable
                    if table.untiled or _is_tiled(variable)
                ]
            }
        )
        for stream in workload.output
    ]
    return workload.model_copy(update={"output": streams})


def _typed(variable: Variable, table: Solver) -> Variable:
    if table.switches is None or not variable.source.startswith("switch:"):
        return variable
    return variable.model_copy(update={"type": table.switches})


def _is_tiled(variable: Variable) -> bool:
    """Over the ranks, as y and x are."""
    return any(re.fullmatch(HORIZONTAL, extent) for extent in variable.shape)


def sized(
    workload: Workload, size: str | None, changes: Mapping[str, object], changed_by: str
) -> Workload:
    """The workload in that size, or its default one, with the keys that were changed.
    `changed_by`: what an error names before the key."""
    name = size or workload.default_size
    if name not in workload.size:
        raise TailraceError(
            f"{workload.name} has no size {printable(name)!r}",
            f"its sizes are {', '.join(workload.size)}",
        )
    made = with_size(workload, name, changes)
    if isinstance(made, ValidationError):
        problems = iter([first_problem(made)])
    else:
        problems = _parameter_problems(made, ())
    for key, text in problems:
        known = ", ".join(type(workload.parameters).model_fields)
        raise TailraceError(
            f"{changed_by}{printable(str(key[0]))}: {printable(text)}",
            f"{workload.program} has {known}; {REFERENCE}",
        )
    assert isinstance(made, Workload)
    return made


def check_ranks(workload: Workload, ranks: int) -> None:
    """Raises where the workload cannot run on so many."""
    root = int(ranks**0.5 + 0.5)
    if workload.ranks == "square" and root * root != ranks:
        squares = ", ".join(str(n * n) for n in range(max(root - 2, 1), max(root + 2, 4)))
        raise TailraceError(
            f"{workload.name} runs on a square number of ranks, not on {ranks}",
            f"for example {squares}",
        )


def _parameter_problems(workload: Workload, origin: KeyPath) -> Iterator[Problem]:
    for key, text in programs.of(workload).problems(workload):
        yield (*origin, key), text


def _stream_problems(workload: Workload) -> Iterator[Problem]:
    streams: list[tuple[str, int, Input]] = [
        *(("output", place, stream) for place, stream in enumerate(workload.output)),
        *(("input", place, stream) for place, stream in enumerate(workload.input)),
    ]
    described = programs.of(workload).described_files
    if described and not workload.output:
        yield ("output",), "is missing: it says what is written"
    if streams and not described:
        yield streams[0][:2], f"program {workload.program!r} has its own files"
    seen: set[str] = set()
    for kind, place, stream in streams:
        if stream.name in seen:
            yield (kind, place, "name"), f"there is another file {stream.name!r}"
        seen.add(stream.name)
        yield from (((kind, place, *key), text) for key, text in _variable_problems(stream))


def _variable_problems(stream: Input) -> Iterator[Problem]:
    seen: set[str] = set()
    for place, variable in enumerate(stream.variable):
        yield from ((("variable", place, key), text) for key, text in _shape_problems(variable))
        if (variable.name is None) == (not variable.listed):
            yield ("variable", place), "needs either a name or names"
        if len(set(variable.listed)) < len(variable.listed):
            yield ("variable", place, "names"), "names a variable twice"
        if variable.count > 1 and "{n}" not in (variable.name or ""):
            yield (
                ("variable", place, "name"),
                f"{variable.count} variables need numbers: write {{n}} into the name",
            )
        if twice := seen & set(variable.names):
            yield ("variable", place, "name"), f"there is another variable {min(twice)!r}"
        if variable.role != "none" and isinstance(stream, Output):
            yield ("variable", place, "role"), "only what is read has a role"
        seen |= set(variable.names)
    if len(seen) > VARIABLES_AT_MOST:
        yield (
            ("variable",),
            f"{len(seen)} variables in one file; at most {VARIABLES_AT_MOST} are possible",
        )


def _shape_problems(variable: Variable) -> Iterator[tuple[str, str]]:
    horizontal = [extent[0] for extent in variable.shape if re.fullmatch(HORIZONTAL, extent)]
    last = [extent.removesuffix("+1") for extent in variable.shape[-2:]]
    if horizontal and (sorted(horizontal) != ["x", "y"] or last != ["y", "x"]):
        yield "shape", f"{variable.shape} is neither tiled (y and x last) nor without x and y"
    if variable.dimensions and len(variable.dimensions) != len(variable.shape):
        yield "dimensions", f"{len(variable.dimensions)} names for {len(variable.shape)} dimensions"
