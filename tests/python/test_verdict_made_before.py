"""What is made before it is written: packed bytes and text. Runs built by arithmetic."""

from typing import Any

import numpy as np
import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Program, called_from, mpi, useful, write

MB = 1_000_000


def ran(
    name: bytes, size: int, before_s: float, ranks: int = 1, idle_s: int = 0, **more: Any
) -> dict:
    """Rank 0 is 9 s outside of calls, so long of these before 4 writes, which take 10 ms; the
    others are outside for as long, less `idle_s`, and wait for it."""
    call = write(10 * MILLISECOND, name, size, 4)
    rows = [[useful(9 * SECOND), call]]
    waits = mpi(10 * MILLISECOND + idle_s * SECOND)
    rows += [[useful((9 - idle_s) * SECOND), waits]] * (ranks - 1)
    end = 9 * SECOND + 10 * MILLISECOND
    columns = Program(rows, end, end, 9 * SECOND, **more).columns()
    called_from(columns, [("dump", "/m"), ("main", "/m")])
    columns["places"] |= {"before_ns": np.array([int(before_s * SECOND)])}
    columns["places"] |= {"again": np.array([0]), "again_ns": np.array([0])}
    return columns


def add_path(places: dict, path: int, before_s: int, **calls: int) -> None:
    """Another path to calls on the same file, so long before which nothing is called."""
    of_paths = {"paths": places["paths"][0], "cut": False, "again": 0, "again_ns": 0}
    of_rows = {*places} - {*of_paths, "before_ns", "frames", "again_rank"}
    row = dict.fromkeys(of_rows, 0) | {"path": path, **calls}
    for name, value in (row | of_paths | {"before_ns": before_s * SECOND}).items():
        places[name] = [*places[name], value]


def found(columns: dict) -> Finding | None:
    findings = judge(Evidence(columns)).findings
    return next((finding for finding in findings if finding.code == "made_before"), None)


def test_packed_bytes_may_have_been_compressed_before_they_are_written():
    """3 s of 9.01 s."""
    columns = ran(b"/run/out.zip", 4 * MB, 3.0)
    assert judge(Evidence(columns)).headline == (
        "I/O does not hold this run back (0.1 % of the run time). But up"
        " to 33.3 % of the run, right before 4 writes to out.zip, may be compressing, which counts"
        " as computation."
    )
    finding = found(columns)
    assert finding.evidence.startswith("3.00 s before writes of 4.00 MB in all")
    assert "without compressing" in finding.advice


def test_text_may_have_been_formatted():
    finding = found(ran(b"/run/state.json", 40 * MB, 3.0))
    assert "33.3 % of the run, right before 4 writes to state.json, may be formatting" in (
        finding.finding
    )


def test_who_writes_may_seek_first():
    """2 s before seeks that precede the writes, and 1 s before these; not 5 s before reading."""
    columns = ran(b"/run/out.parquet", 4 * MB, 1.0)
    for path, (calls, before_s) in enumerate((("others", 2), ("reads", 5)), 1):
        add_path(columns["places"], path, before_s, **{calls: 4})
    assert found(columns).evidence.startswith("3.00 s before writes of 4.00 MB in all")


def test_what_lies_before_an_archive_is_opened_is_not_compressed():
    """2 s before the opening, from where Python seeks, too; of a text these may be formatting."""
    for name, told in ((b"/run/out.zip", False), (b"/run/state.json", True)):
        columns = ran(name, 40 * MB, 0.0)
        add_path(columns["places"], 1, 2, opens=1, others=2)
        assert (found(columns) is not None) == told


@pytest.mark.parametrize(("of_log", "said"), [(5000, False), (4, True)])
def test_what_lies_before_the_writes_of_other_files_is_not_said(of_log: int, said: bool):
    """3 s before 4 writes of a text and so many of a log, all from one path, as where none is
    known: of the 5,004 hardly one is the text's, and of 8 half are."""
    write_log = write(10 * MILLISECOND, b"/run/b.log", 5 * of_log, of_log)
    text = write(10 * MILLISECOND, b"/run/state.json", 40 * MB, 4)
    rows = [[useful(9 * SECOND), text, write_log]]
    end = 9 * SECOND + 20 * MILLISECOND
    columns = Program(rows, end, end, 9 * SECOND).columns()
    called_from(columns, [("", "/usr/bin/node")])
    columns["places"] |= {"file": [0, 1], "path": [0, 0], "before_ns": np.array([3 * SECOND])}
    columns["places"] |= {"again": np.array([0]), "again_ns": np.array([0])}
    assert (found(columns) is not None) == said


@pytest.mark.parametrize(
    ("name", "size", "before_s", "share"),
    [
        (b"/run/out.zip", MB // 5, 8.0, "11.1 %"),  # 0.2 MB take 1 s at most
        (b"/run/out.zip", MB // 50, 8.0, ""),  # and a tenth of it 0.1 s, of 9 s
        (b"/run/state.json", 8 * MB, 8.0, "11.1 %"),
        (b"/run/state.json", MB, 8.0, ""),
        (b"/run/out.zip", 4 * MB, 0.3, ""),
        (b"/run/state.dat", 40 * MB, 8.0, ""),  # nobody knows what it holds
        (b"/run/state.h5", 40 * MB, 8.0, ""),
        (b"/run/water.xtc", 40 * MB, 8.0, ""),  # packed, and a step lies before each write
    ],
)
def test_no_more_is_said_than_the_slowest_would_take(name, size, before_s, share):
    finding = found(ran(name, size, before_s))
    assert (finding is not None) == bool(share)
    assert share in (finding.finding if finding else "")


def test_it_is_a_share_of_who_writes():
    finding = found(ran(b"/run/out.zip", 4 * MB, 3.0, ranks=4))
    assert finding.finding.startswith("up to 33.3 % of the run on rank 0, right before 4 writes")
    assert finding.ranks == (0,)


def test_who_compresses_alone_is_not_said_to_compute_alone():
    """Rank 0 is outside of calls for 9 s, and the others for 6 s. It writes 1.4 MB of an
    archive, which take 7 s at most; or of what nobody knows, at less than 1 MB/s."""
    for name, told in ((b"/run/out.zip", True), (b"/run/out.dat", False)):
        columns = ran(name, 1_400_000, 3.0, ranks=4, idle_s=3)
        findings = judge(Evidence(columns)).findings
        (uneven,) = (finding for finding in findings if finding.code == "load_imbalance")
        assert ("which writes 100 % of the bytes" in uneven.finding) == told
        assert ("compressing" in uneven.advice) == told


def test_it_is_not_said_where_packing_is_known():
    columns = ran(b"/run/out.zip", 4 * MB, 3.0)
    columns["places"] |= {"again": np.array([999]), "again_ns": np.array([3 * SECOND])}
    call = {"writes": np.array([1000])}
    columns["places"] |= call
    assert found(columns) is None


def test_waits_for_a_processor_are_left_out():
    waited = {"waited_ns": [(6 * SECOND, 0, 0)], "any_waited_ns": (6 * SECOND, 0, 0)}
    assert "up to 11.1 %" in found(ran(b"/run/out.zip", 4 * MB, 3.0, **waited)).finding
