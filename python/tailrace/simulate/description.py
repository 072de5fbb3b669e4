"""A workload as the engine simulates it: kernels/README.md says what the solver makes of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tailrace.bench import pairs
from tailrace.bench.workload import Input, Output, Solver, Variable, Workload
from tailrace.errors import TailraceError

METHODS = ("serial", "independent", "file-per-rank")
FORMATS = ("posix", "mpiio")
AXES = "xyz"
ELEMENT_BYTES = {"float64": 8, "float32": 4, "int32": 4, "character": 1}
SETTINGS = {"whole_writers": ("root", "all")}
NANOSECONDS = 1e9


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
) -> dict[str, Any]:
    """What `engine.simulate` takes."""
    table = workload.solver
    assert table is not None
    tiles = table.tiles
    own = tiles is not None and tiles[0] * tiles[1] == ranks
    streams = [*workload.output, *workload.input]
    return {
        "ranks": ranks,
        "ranks_per_node": ranks_per_node,
        "grid": table.grid[::-1],
        "tiles": tiles[::-1] if tiles and own else None,
        "steps": table.steps,
        "step_ns": step_s * NANOSECONDS,
        "halo_fields": table.tracers,
        "method": pair[0],
        "format": pair[1],
        "wholes_by_all": settings.get("whole_writers") == "all",
        "streams": [_stream(stream, table) for stream in streams],
    }


def checked_settings(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if name not in SETTINGS:
            raise TailraceError(
                f"the setting {name} is not simulated", f"the settings are {', '.join(SETTINGS)}"
            )
        if value not in SETTINGS[name]:
            raise TailraceError(
                f"the setting {name} cannot be {value}", f"use {' or '.join(SETTINGS[name])}"
            )
    return given


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
