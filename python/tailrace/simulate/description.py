"""A workload as the engine simulates it: kernels/README.md says what the solver makes of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tailrace.bench import pairs
from tailrace.bench.workload import Input, Output, Solver, Variable, Workload
from tailrace.errors import TailraceError
from tailrace.units import NANOSECONDS_PER_SECOND

METHODS = ("serial", "independent", "file-per-rank", "collective", "aggregated")
FORMATS = ("posix", "mpiio")
AXES = "xyz"
ELEMENT_BYTES = {"float64": 8, "float32": 4, "int32": 4, "character": 1}
# Settings and hints by name: their words, or None for a number.
SETTINGS: dict[str, tuple[str, ...] | None] = {
    "whole_writers": ("root", "all"),
    "writers": None,
    "writers_per_node": None,
    "buffer_bytes": None,
}
HINTS: dict[str, tuple[str, ...] | None] = {"cb_nodes": None, "cb_buffer_size": None}
BUFFER_BYTES = 16 << 20
MOST = 1 << 31
# What there may be of each, so that memory, time and the engine's numbers are enough for it: of a
# file of each of so many ranks it takes 6 GB.
MOST_RANKS = 1 << 22
MOST_STEPS = 10**8
MOST_VARIABLE_BYTES = 1 << 50


def check(workload: Workload, method: str | None, format_: str | None) -> tuple[str, str]:
    """The pair of method and format that is meant. Raises TailraceError for what cannot be
    simulated."""
    if workload.program != "solver":
        raise TailraceError(
            f"{workload.name} runs the program {workload.program}, which is not simulated yet",
            "workloads of the program solver are: cmaq, roms, wrf, or one of your own",
        )
    if format_ is not None and format_ not in FORMATS:
        pairs.choose(workload, method, format_)
        raise TailraceError(
            f"the format {format_} is not simulated yet: its library makes calls of its own",
            f"use --format {' or --format '.join(FORMATS)}",
        )
    if method is not None and method not in METHODS:
        pairs.choose(workload, method, format_)
        raise TailraceError(
            f"the method {method} is not simulated yet", f"the methods are {', '.join(METHODS)}"
        )
    for pair in pairs.of(workload):
        if pair[0] in ({method} if method else METHODS) and pair[1] in (
            {format_} if format_ else FORMATS
        ):
            return pair
    return pairs.choose(workload, method, format_)


def described(
    workload: Workload,
    ranks: int,
    ranks_per_node: int,
    pair: tuple[str, str],
    step_s: float,
    settings: dict[str, str],
    hints: dict[str, str] | None = None,
) -> dict[str, Any]:
    """What `engine.simulate` takes."""
    table = workload.solver
    assert table is not None
    _check_sizes(workload, table, ranks)
    tiles = table.tiles
    own = tiles is not None and tiles[0] * tiles[1] == ranks
    streams = [*workload.output, *workload.input]
    return {
        "ranks": ranks,
        "ranks_per_node": min(ranks_per_node, ranks),
        "grid": table.grid[::-1],
        "tiles": tiles[::-1] if tiles and own else None,
        "steps": table.steps,
        "step_ns": step_s * NANOSECONDS_PER_SECOND,
        "halo_fields": table.tracers,
        "method": pair[0],
        "format": pair[1],
        "wholes_by_all": settings.get("whole_writers") == "all",
        "writers": _number(settings, "writers"),
        "writers_per_node": _number(settings, "writers_per_node") or 1,
        "buffer_bytes": max(_number(settings, "buffer_bytes") or BUFFER_BYTES, 8),
        "aggregators": _number(hints or {}, "cb_nodes"),
        "collective_buffer_bytes": _number(hints or {}, "cb_buffer_size") or BUFFER_BYTES,
        "streams": [_stream(stream, table) for stream in streams],
    }


def _check_sizes(workload: Workload, table: Solver, ranks: int) -> None:
    """Raises TailraceError for what would be answered with numbers that have no room."""
    streams = [*workload.output, *workload.input]
    every = [stream.every for stream in streams if stream.every is not None]
    files = [stream.steps_per_file for stream in streams]
    steps = max(table.steps, table.every, *every, *files)
    variables = [variable for stream in streams for variable in stream.variable]
    most_bytes = max((_bytes(variable, table) for variable in variables), default=0)
    for what, given, most in (
        ("ranks", ranks, MOST_RANKS),
        ("steps", steps, MOST_STEPS),
        ("tracers", table.tracers, MOST),
        ("bytes of a variable", max(most_bytes, prod(table.grid)), MOST_VARIABLE_BYTES),
    ):
        if given > most:
            raise TailraceError(
                f"{given:,} {what} are more than can be simulated", f"{most:,} can, and no more"
            )


def _bytes(variable: Variable, table: Solver) -> int:
    sizes = (_dimension(extent, None, table)["size"] for extent in variable.shape)
    return ELEMENT_BYTES[variable.type] * prod(sizes)


def _number(given: dict[str, str], name: str) -> int | None:
    return int(given[name]) if name in given else None


def checked_settings(given: dict[str, str], method: str) -> dict[str, str]:
    _check("setting", given, SETTINGS)
    if "writers" in given and "writers_per_node" in given:
        raise TailraceError(
            "the settings writers and writers_per_node exclude each other", "give one of them"
        )
    if method == "collective" and given.get("whole_writers") == "all":
        raise TailraceError(
            "whole_writers=all is not simulated with the method collective",
            "leave it out: rank 0 then writes what is not tiled",
        )
    return given


def checked_hints(given: dict[str, str]) -> dict[str, str]:
    _check("hint", given, HINTS)
    return given


def _check(what: str, given: dict[str, str], known: dict[str, tuple[str, ...] | None]) -> None:
    for name, value in given.items():
        if name not in known:
            raise TailraceError(
                f"the {what} {name} is not simulated", f"the {what}s are {', '.join(known)}"
            )
        words = known[name]
        if words is not None and value not in words:
            raise TailraceError(f"the {what} {name} cannot be {value}", f"use {' or '.join(words)}")
        if words is None and not (value.isdecimal() and 1 <= int(value) <= MOST):
            raise TailraceError(
                f"the {what} {name} cannot be {value}", f"use a whole number from 1 to {MOST}"
            )


def _stream(stream: Input, table: Solver) -> dict[str, Any]:
    is_output = isinstance(stream, Output)
    return {
        "name": stream.name,
        "is_output": is_output,
        "every": stream.every or table.every,
        "initial": isinstance(stream, Output) and stream.initial,
        "steps_per_file": stream.steps_per_file,
        "sync": isinstance(stream, Output) and stream.sync,
        "variables": [
            _variable(variable, name, table)
            for variable in stream.variable
            for name in variable.names
        ],
    }


def _variable(variable: Variable, name: str, table: Solver) -> dict[str, Any]:
    names: Sequence[str | None] = variable.dimensions or [None] * len(variable.shape)
    extents = zip(variable.shape, names, strict=True)
    return {
        "name": name,
        "units": variable.units,
        "kind": variable.type,
        "element_bytes": ELEMENT_BYTES[variable.type],
        "every_step": variable.when == "every_step",
        "tiled": [extent[0] for extent in variable.shape[-2:] if _is_axis(extent)] == ["y", "x"],
        "dimensions": [_dimension(extent, own, table) for extent, own in extents],
    }


def _is_axis(extent: str) -> bool:
    return "=" not in extent


def _dimension(extent: str, name: str | None, table: Solver) -> dict[str, Any]:
    if not _is_axis(extent):
        own, _, size = extent.partition("=")
        return {"name": name or own, "size": int(size), "staggered": False}
    axis, staggered = extent[0], extent.endswith("+1")
    return {
        "name": name or (f"{axis}_staggered" if staggered else axis),
        "size": table.grid[AXES.index(axis)] + staggered,
        "staggered": staggered,
    }
