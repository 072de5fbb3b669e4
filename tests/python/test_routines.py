"""Which routine is the one that writes a file, and when nothing is said: by tables of places and
routines made here. What the engine puts into them is tested beside it, and with programs in
tests/verdict/test_routines.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tailrace.page import render
from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.requests import KINDS
from tailrace.verdict.routines import Routines
from tests.python.columns import MILLISECOND, SECOND, Program, mpi, useful, write

MB = 1_000_000


@dataclass
class Routine:
    """Times in ms, of both ranks together; the run takes 10 s, so that 200 ms are 1 %."""

    name: str
    useful: int = 0
    mpi: int = 0
    io: int = 100
    mpi_calls: int = 40
    receivers: int = 1
    unsure: int = 0
    entries: int = 8
    writing: int = 8


@dataclass
class Model:
    """`paths`: routines from the innermost, and the bytes that are written to the file from there.
    In all, 1000 calls of MPI are made."""

    routines: list[Routine]
    paths: list[tuple[list[str], int]]
    columns: dict[str, Any] = field(default_factory=dict)
    mpiio_ms: int = 0
    # How long each rank is useful in the first routine, s, and how much longer rank 0 is in all.
    of_ranks_s: tuple[float, float] = (0, 0)
    longer_s: int = 0

    # Of both ranks, for a processor, while useful, in I/O and in MPI.
    waited_ms: tuple[int, int, int] = (0, 0, 0)

    def judged(self) -> tuple[str, Finding | None]:
        verdict = judge(Evidence(self.all_columns()))
        found = [f for f in verdict.findings if f.code == "output_routine"]
        return verdict.headline, found[0] if found else None

    def all_columns(self) -> dict[str, Any]:
        size = sum(size for _, size in self.paths)
        master = [useful(9 * SECOND), write(50 * MILLISECOND, size=size), mpi(950 * MILLISECOND)]
        other = [useful((9 - self.longer_s) * SECOND), mpi((1 + self.longer_s) * SECOND)]
        ideal = 9 * SECOND + 50 * MILLISECOND
        waited: dict[str, Any] = {}
        if any(self.waited_ms):
            of_each = tuple(wait * MILLISECOND // 2 for wait in self.waited_ms)
            waited = {"waited_ns": [of_each, of_each], "any_waited_ns": of_each}
        program = Program([master, other], ideal, ideal - 25 * MILLISECOND, 9 * SECOND, **waited)
        columns = program.columns()
        columns["files"]["mpiio_ns"][:] = self.mpiio_ms * MILLISECOND
        return columns | self.tables()

    def tables(self) -> dict[str, Any]:
        rows = [*self.routines, Routine("main", 15_000, 1000, 100, 1000, 2, 0, 1, 1)]
        names = [row.name for row in rows]
        return {
            "places": {
                "file": [0] * len(self.paths),
                "path": list(range(len(self.paths))),
                "paths": [
                    [names.index(name) for name in (*path, "main")] for path, _ in self.paths
                ],
                "cut": [False] * len(self.paths),
                "bytes_read": np.zeros(len(self.paths), dtype=np.int64),
                "bytes_written": np.asarray([size for _, size in self.paths]),
                **{f"{kind}_ns": np.ones(len(self.paths), dtype=np.int64) for kind in KINDS},
                "frames": _frames(names),
            },
            "routine_ranks": {
                "routine": np.array([0, 0]),
                "rank": np.array([0, 1]),
                "useful_ns": np.array([int(length * SECOND) for length in self.of_ranks_s]),
                "unsure_ns": np.array([0, 0]),
            },
            "routines": {
                "useful_ns": [row.useful * MILLISECOND for row in rows],
                "unsure_ns": [row.unsure * MILLISECOND for row in rows],
                "mpi_ns": [row.mpi * MILLISECOND for row in rows],
                "io_ns": [row.io * MILLISECOND for row in rows],
                "mpi_calls": [row.mpi_calls for row in rows],
                "ranks": [2] * len(rows),
                "receivers": [row.receivers for row in rows],
                "entries": [row.entries for row in rows],
                "entries_of_readers": [0] * len(rows),
                "entries_with_reads": [0] * len(rows),
                "entries_of_writers": [row.entries for row in rows],
                "entries_with_writes": [row.writing for row in rows],
                "frames": _frames(names),
            },
        }


def _frames(names: list[str]) -> dict[str, list]:
    lines = list(range(10, 10 + len(names)))
    source, module = ["/model/model.c"] * len(names), ["/model/model"] * len(names)
    return {"function": names, "source": source, "line": lines, "module": module}


def _named(routines: list[Routine], paths: list[tuple[list[str], int]]) -> str:
    _, finding = Model(routines, paths).judged()
    return finding.finding.split(",")[0] if finding else ""


def test_the_page_leaves_a_routine_s_name_as_it_is():
    model = Model([Routine("dump", 3000, 1900)], [(["dump"], 80 * MB)])
    text = render([model.all_columns()], ["model.tailrace"])
    assert '<p class="what name">dump, from which' in text
    assert ".what:not(.name)::first-letter" in text


def test_whoever_writes_by_mpi_io_is_not_told_to():
    model = Model([Routine("dump", 3000, 1900)], [(["dump"], 80 * MB)])
    _, finding = model.judged()
    assert finding is not None and "MPI_File_write_at_all" in finding.advice
    model.mpiio_ms = 900
    _, finding = model.judged()
    assert finding is not None and finding.advice == (
        "write less often, or fewer values, or while the ranks compute (calls that do not block)"
    )


def test_the_routine_and_its_whole_cost_are_named():
    model = Model([Routine("dump", 3000, 1900)], [(["dump"], 80 * MB)])
    headline, finding = model.judged()
    assert finding is not None
    # (3000 + 1900 + 100) ms of 20 s
    assert finding.finding == (
        "dump, from which history.nc is written, takes at least 25.0 % of the run"
    )
    assert finding.evidence == (
        "of that 15.0 % between its calls (formatting, or what else it does), 9.5 % in MPI "
        "(gathering, waiting), 0.5 % in file calls; entered at least 8 times"
    )
    assert finding.place == "dump (model.c:10) ← main"
    assert finding.share_of_runtime == 0.25
    assert headline == f"File calls take 0.5 % of this run, but {finding.finding}."


def test_the_innermost_with_nearly_all_of_the_cost():
    routines = [Routine("put"), Routine("dump", 3000, 1800), Routine("output", 3000, 1900)]
    assert _named(routines, [(["put", "dump", "output"], 80 * MB)]) == "dump"


def test_one_that_is_called_from_two_places():
    routines = [Routine("dump", 3000, 1900), Routine("setup", 300), Routine("step", 2700, 1900)]
    paths = [(["dump", "setup"], 10 * MB), (["dump", "step"], 70 * MB)]
    assert _named(routines, paths) == "dump"


def test_one_through_which_not_all_goes_is_not_the_file_s():
    paths = [(["dump"], 40 * MB), (["restart"], 40 * MB)]
    assert not _named([Routine("dump", 3000), Routine("restart", 3000)], paths)


def test_nothing_is_said_of_what_is_the_program_itself():
    paths = [(["dump"], 80 * MB)]
    assert _named([Routine("dump", 3000)], paths)
    assert not _named([Routine("dump", 3000, entries=1)], paths)
    assert not _named([Routine("dump", 17_000, 1500)], paths)
    assert not _named([Routine("dump", 3000, mpi_calls=950)], paths)


def test_nothing_is_said_of_a_step_of_the_computation():
    paths = [(["step"], 80 * MB)]
    assert not _named([Routine("step", 3000, receivers=2)], paths)  # neighbours exchange
    assert not _named([Routine("step", 3000, writing=2)], paths)  # it writes now and then
    # 1 MB in 3 s is no formatting
    assert not _named([Routine("step", 3000)], [(["step"], MB)])


def test_nothing_is_said_where_file_calls_say_it_already():
    assert not _named([Routine("dump", 20, 0, io=5000)], [(["dump"], 80 * MB)])
    assert not _named([Routine("dump", 200, 0)], [(["dump"], 80 * MB)])


def test_where_much_may_have_been_outside_nothing_between_calls_counts():
    paths = [(["dump"], 80 * MB)]
    _, finding = Model([Routine("dump", 3000, 1900, unsure=1000)], paths).judged()
    assert finding is not None
    assert finding.share_of_runtime == 0.1
    assert finding.evidence.startswith("of that 9.5 % in MPI")
    _, finding = Model([Routine("dump", 3000, 1900, unsure=700)], paths).judged()
    assert finding is not None
    assert finding.share_of_runtime == 0.25


@pytest.mark.parametrize(
    ("of_ranks_s", "uneven"), [((3, 0), False), ((1.5, 1.5), True), ((0, 3), True)]
)
def test_what_a_routine_takes_of_each_rank_is_no_uneven_computation(of_ranks_s, uneven):
    """Rank 0 is useful for 3 s longer. Where it formats for these 3 s, it computes as long as rank
    1; where both format for as long, it computes for 3 s longer, and where rank 1 formats, for
    6 s."""
    model = Model([Routine("dump", 3000, receivers=0)], [(["dump"], 80 * MB)], longer_s=3)
    model.of_ranks_s = of_ranks_s
    codes = [finding.code for finding in judge(Evidence(model.all_columns())).findings]
    assert ("load_imbalance" in codes) == uneven
    assert "output_routine" in codes


def _with_file(columns: dict[str, Any], name: bytes, size: int, place: str = "file_system") -> int:
    """The row of another file."""
    files = columns["files"]
    files["path"] = [*files["path"], name]
    files["place"] = [*files["place"], place]
    for column, values in files.items():
        if len(values) < len(files["path"]):
            files[column] = np.append(values, np.zeros(1, dtype=np.asarray(values).dtype))
    files["bytes_written"][-1] = size
    return len(files["path"]) - 1


@pytest.mark.parametrize(
    ("way", "mb", "said"),
    [
        (["end"], 1, "frame, from which history.nc is written"),  # by the outer one alone
        (["frame", "end"], 1, "frame, from which history.nc and 1 other file are written"),
        (["frame", "end"], 70, "frame, from which 2 files are written"),  # neither has nearly all
    ],
)
def test_a_routine_is_named_with_the_file_that_its_bytes_go_to(way, mb: int, said: str):
    """`end` calls `frame` each time, and so takes a little longer: 3.2 s of 20 and 3.1. 80 MB of
    history.nc go through both. What `end` writes once beside that is not what it takes."""
    rows = [Routine("frame", 3000), Routine("end", 3100)]
    columns = Model(rows, [(["frame", "end"], 80 * MB), (way, mb * MB)]).all_columns()
    columns["files"]["bytes_written"][0] = 80 * MB
    columns["places"]["file"] = [0, _with_file(columns, b"/data/last.gro", mb * MB)]
    (found,) = [f for f in judge(Evidence(columns)).findings if f.code == "output_routine"]
    assert found.finding.startswith(f"{said}, takes at least 15.5 % of the run"), found.finding


def test_waits_for_a_processor_are_taken_out():
    """1 s of the useful time and 0.5 s of the time in MPI, wherever they were."""
    model = Model([Routine("dump", 3000, 1900)], [(["dump"], 80 * MB)], waited_ms=(1000, 0, 500))
    _, finding = model.judged()
    assert finding is not None
    assert finding.evidence.startswith("of that 10.0 % between its calls")
    assert finding.share_of_runtime == (2000 + 1400 + 100) / 20_000


def test_what_goes_to_a_pipe_is_none_of_it():
    """2.8 s of the 3 s between its calls are writes to a pipe, as where tar feeds a compressor."""
    model = Model([Routine("dump", 3000)], [(["dump"], 80 * MB), (["dump"], 0)])
    columns = model.all_columns()
    places = columns["places"]
    places["file"] = [0, _with_file(columns, b"<pipe>", 0, place="device")]
    assert Routines(Evidence(columns)).by_name["dump", "/model/model", "/model/model.c"].useful_ns
    places["write_ns"] = np.asarray([1, 2800 * MILLISECOND])
    (dump,) = [row for row in Routines(Evidence(columns)).by_name.values() if row.name[0] == "dump"]
    assert dump.useful_ns == 200 * MILLISECOND - (len(KINDS) - 1)


@pytest.mark.parametrize(
    ("source", "said"), [("dist-packages/numpy/lib/npyio.py", True), ("", False)]
)
def test_what_numpy_packs_is_no_routine_that_may_have_been_left(source: str, said: bool):
    """3 s between writes of one loop, 0.1 s in these, of 20 s. A function of that name which is the
    program's own may have been left in between: nothing is said of it."""
    rows = [Routine("savez_compressed", 0, unsure=3000, mpi_calls=0, entries=1, writing=1)]
    columns = Model(rows, [(["savez_compressed"], 80 * MB)]).all_columns()
    for table in (columns["places"], columns["routines"]):
        table["frames"]["source"] = [f"/usr/lib/python3/{source}" if source else "/my/npyio.py", ""]
        table["frames"]["module"] = ["", "/model/model"]
    found = [f for f in judge(Evidence(columns)).findings if f.code == "output_routine"]
    assert bool(found) == said
    for finding in found:
        assert finding.finding.startswith("savez_compressed, from which history.nc is written, tak")
        assert finding.share_of_runtime == (3000 + 100) / 20_000
        assert "15.0 % between its calls (compressing, or what else it does)" in finding.evidence
        assert finding.advice.startswith("write without compressing (numpy.savez)")
