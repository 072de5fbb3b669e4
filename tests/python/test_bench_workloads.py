"""Workload files: those that come with Tailrace, and what is said of bad ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.bench import loader, programs
from tailrace.bench.plan import Choices
from tailrace.errors import TailraceError
from tailrace.shipped import WORKLOADS
from tailrace.toml_lines import Lines

SOLVER = """\
name = "mine"
description = "My model."
program = "solver"
default_size = "small"

[solver]
grid = [8, 6, 4]
steps = 10
every = 5

[size.small]

[size.large]
grid = [80, 60, 40]

[[output]]
name = "history"

[[output.variable]]
name = "temperature"
source = "tracer:1"

[[output.variable]]
name = "mask"
shape = ["y", "x"]
type = "int32"
source = "place:1"
"""


def write(folder: Path, text: str) -> str:
    path = folder / "mine.toml"
    path.write_text(text)
    return str(path)


def test_seven_workloads_come_with_tailrace_and_each_names_its_paper() -> None:
    assert WORKLOADS.names() == ["btio", "calculix", "cgns", "cmaq", "h5perf", "roms", "wrf"]
    for name in WORKLOADS.names():
        workload = loader.load(name)
        assert workload.paper and workload.from_paper and workload.assumed, name
        assert "tiny" in workload.size, name


def test_all_switches_that_are_written_may_have_one_type() -> None:
    """The ticket of roms compares characters with integers; what is read is as its file has it."""
    for chosen in ("int32", "character"):
        made = loader.sized(loader.load("roms"), "tiny", {"switches": chosen}, "--set ")
        switches = [
            variable.type
            for stream in made.output
            for variable in stream.variable
            if variable.source.startswith("switch:")
        ]
        assert set(switches) == {chosen} and len(switches) == 6
    (grid,) = made.input
    assert grid.variable[0].type == "character"


def test_what_is_not_tiled_may_be_left_out() -> None:
    made = loader.sized(loader.load("roms"), "tiny", {"untiled": False}, "--set ")
    names = [name for stream in made.output for v in stream.variable for name in v.names]
    assert "zeta" in names and "salt" in names
    assert not {"ocean_time", "dt", "spherical", "s_rho", "Akt_bak"} & set(names)


def test_a_file_of_ones_own_is_loaded_and_sized(tmp_path: Path) -> None:
    workload = loader.load(write(tmp_path, SOLVER))
    assert [variable.name for variable in workload.output[0].variable] == ["temperature", "mask"]
    large = loader.with_size(workload, "large")
    assert large.parameters.grid == [80, 60, 40]
    assert large.parameters.steps == 10


def test_a_list_of_names_is_as_many_variables(tmp_path: Path) -> None:
    text = SOLVER.replace(
        'name = "temperature"\nsource = "tracer:1"', 'names = ["O3", "NO"]\nsource = "tracer:{n}"'
    )
    workload = loader.load(write(tmp_path, text))
    assert workload.output[0].variable[0].names == ["O3", "NO"]
    choices = Choices(1, "serial", "posix", tmp_path, tmp_path)
    programs.of(workload).plan(workload, choices, tmp_path)
    plan = (tmp_path / "plan").read_text().splitlines()
    lines = [line for line in plan if line.startswith("variable")]
    assert [line.split()[1] for line in lines] == ["O3", "NO", "mask"]
    assert "source=tracer:1" in lines[0] and "source=tracer:2" in lines[1]


# What is changed, and the line, key and words that the sentence must then have.
MISTAKES = [
    ('name = "mine"', 'name = "yours"', 1, "name: should be the file's name"),
    ("steps = 10", "stepz = 10", 8, "solver.stepz: there is no such key"),
    ("steps = 10", 'steps = "ten"', 8, "solver.steps: should be a valid integer, not 'ten'"),
    ("steps = 10", "steps = 0", 8, "solver.steps: should be greater than 0"),
    ("grid = [8, 6, 4]", "grid = [8, 6]", 7, "solver.grid"),
    (
        "grid = [8, 6, 4]",
        "grid = [8, 6, -4]",
        7,
        "solver.grid[3]: should be greater than 0, not -4",
    ),
    ("grid = [80, 60, 40]", "gird = [80, 60, 40]", 14, "size.large.gird: there is no such key"),
    (
        "grid = [80, 60, 40]",
        "steps = 2",
        14,
        "size.large.steps: 2 steps, and 5 between two outputs",
    ),
    ('shape = ["y", "x"]', 'shape = ["x", "y"]', 25, "output[1].variable[2].shape"),
    ('shape = ["y", "x"]', 'shape = ["y", "q"]', 25, "output[1].variable[2].shape[2]"),
    ('type = "int32"', 'type = "int16"', 26, "output[1].variable[2].type: should be 'float64'"),
    ('name = "mask"', 'name = "temperature"', 24, "there is another variable 'temperature'"),
    ('source = "place:1"', 'source = "nowhere"', 27, "output[1].variable[2].source"),
    ('name = "history"', 'name = "hi story"', 17, "output[1].name"),
    (
        'source = "place:1"',
        'source = "place:1"\nrole = "logical"',
        28,
        "only what is read has a role",
    ),
    ('default_size = "small"', 'default_size = "huge"', 4, "there is no [size.huge]"),
    ('program = "solver"', 'program = "btio"', 1, "btio: is missing"),
    ('source = "tracer:1"', "", 19, "output[1].variable[1].source: is missing"),
    (
        'name = "mask"',
        'names = ["mask", "mask"]',
        24,
        "output[1].variable[2].names: names a variable twice",
    ),
    ('name = "mask"', 'names = ["ma sk"]', 24, "output[1].variable[2].names[1]"),
    ('name = "mask"\n', "", 23, "output[1].variable[2]: needs either a name or names"),
    (
        'name = "mask"',
        'name = "mask"\nnames = ["land"]',
        23,
        "output[1].variable[2]: needs either a name or names",
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "line", "words"), MISTAKES, ids=[mistake[1] for mistake in MISTAKES]
)
def test_a_mistake_is_told_with_file_line_and_key(
    tmp_path: Path, before: str, after: str, line: int, words: str
) -> None:
    assert SOLVER.count(before) == 1
    with pytest.raises(TailraceError) as caught:
        loader.load(write(tmp_path, SOLVER.replace(before, after)))
    assert f"mine.toml, line {line}: " in caught.value.message
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_what_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(TailraceError, match=r"mine\.toml: this is not valid TOML: .*line 3"):
        loader.load(write(tmp_path, 'name = "mine"\n\nsteps = = 3\n'))
    (tmp_path / "mine.toml").write_bytes(b"name = \xff")
    with pytest.raises(TailraceError, match="byte 7: this is not UTF-8 text"):
        loader.load(str(tmp_path / "mine.toml"))


def test_a_name_that_is_none_is_told_with_those_that_are() -> None:
    with pytest.raises(TailraceError, match=r"there is no workload rooms; there are btio, .* wrf"):
        loader.load("rooms")


def test_lines_of_keys_in_every_kind_of_table() -> None:
    lines = Lines(
        'a = 1\nb.c = { d = 2, e = [1,\n  2] }\n\n[f."g h"]\ni = 3\n'
        "[[j]]\nk = 1\n[[j]]\nk = 2\n[[j.l]]\nm = 3\n[j.n]\no = 4\n"
    )
    assert [
        lines.of(path) for path in (("a",), ("b", "c"), ("b", "c", "d"), ("b", "c", "e", 1))
    ] == [1, 2, 2, 3]
    assert lines.of(("f", "g h", "i")) == 6
    assert [lines.of(path) for path in (("j", 0, "k"), ("j", 1, "k"), ("j", 1, "l", 0, "m"))] == [
        8,
        10,
        12,
    ]
    assert lines.of(("j", 1, "n", "o")) == 14
    assert lines.of(("j", 1, "absent")) == 9  # the table's own
    assert lines.of(("absent",)) == 1
