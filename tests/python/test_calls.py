"""The calls of a trace whose every nanosecond is known, as Arrow and as a data frame."""

import subprocess
import sys
from pathlib import Path

import pytest

import tailrace
from tailrace import engine

from .raw_stream import RawStream

pa = pytest.importorskip("pyarrow")

INIT, FINALIZE, PWRITE, WRITE_ALL, SEND = range(5)
FILE_CLASS, SEND_CLASS, CONTROL_CLASS = 1, 2, 10
WRITE, HAS_OFFSET, COLLECTIVE = 3, 1, 2


def stream(rank: int) -> RawStream:
    """MPI_Init until 1,000; a collective write that holds 8 bytes at 64; two writes of 4 bytes."""
    made = RawStream(rank, ranks=2)
    for number, layer, name in (
        (INIT, 0, "MPI_Init"),
        (FINALIZE, 0, "MPI_Finalize"),
        (PWRITE, 2, "pwrite"),
        (WRITE_ALL, 1, "MPI_File_write_all"),
        (SEND, 0, "MPI_Send"),
    ):
        made.name(number, layer, name)
    made.path(0, b"/run/out.nc")
    made.define(1, INIT, CONTROL_CLASS, [0, 0])
    made.define(2, WRITE_ALL, FILE_CLASS, [WRITE, COLLECTIVE, 0, 8, 0, 0, 0])
    made.define(3, PWRITE, FILE_CLASS, [WRITE, HAS_OFFSET, 0, 8, 64, 0, -1])
    made.define(4, PWRITE, FILE_CLASS, [WRITE, HAS_OFFSET, 0, 4, 0, 0, -1])
    made.define(5, SEND, SEND_CLASS, [0, 1 - rank, 9, 32, 0, 0])
    made.define(6, FINALIZE, CONTROL_CLASS, [1, 0])
    made.call(1, 0, 1_000)
    made.enter(2, 100)  # 1,100
    made.call(3, 10, 50)  # 1,110
    made.leave(2, 40)  # 1,200
    made.call(4, 100, 30)  # 1,300
    made.call(4, 70, 30)  # 1,400
    made.call(5, 70, 20)  # 1,500
    made.call(6, 80, 10)  # 1,600
    return made


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    for rank in range(2):
        stream(rank).save(tmp_path)
    engine.pack(tmp_path, tmp_path / "run.tailrace")
    return tmp_path / "run.tailrace"


def rows(calls) -> list[tuple]:
    return [tuple(row.values()) for row in calls.to_arrow().to_pylist()]


def test_every_call_with_all_that_is_known(trace: Path) -> None:
    """Times count from the end of MPI_Init, at 1,000."""
    run = tailrace.open(trace)
    table = run.calls().to_arrow()
    assert table.column_names == [
        *("rank", "thread", "function", "layer", "depth", "begin_ns", "duration_ns"),
        *("file", "offset", "bytes", "peer", "tag", "source", "source_tag", "communicator"),
        *("peers", "window", "exclusive", "request", "completes", "acts_on"),
    ]
    file = "/run/out.nc"
    world = (None, None, None, None, 0)  # nobody in particular, on communicator 0
    no_more = ([], None, None, None, [], [])  # no peers, no window, no request
    assert rows(run.calls(ranks=[0])) == [
        (0, 0, "MPI_Init", "mpi", 0, -1000, 1000, *[None] * 8, *no_more),
        (0, 0, "pwrite", "posix", 1, 110, 50, file, 64, 8, *[None] * 5, *no_more),
        (0, 0, "MPI_File_write_all", "mpiio", 0, 100, 100, file, None, 8, *world, *no_more),
        (0, 0, "pwrite", "posix", 0, 300, 30, file, 72, 4, *[None] * 5, *no_more),
        (0, 0, "pwrite", "posix", 0, 400, 30, file, 76, 4, *[None] * 5, *no_more),
        (0, 0, "MPI_Send", "mpi", 0, 500, 20, None, None, 32, 1, 9, None, None, 0, *no_more),
        (0, 0, "MPI_Finalize", "mpi", 0, 600, 10, *[None] * 8, *no_more),
    ]
    assert table.column("rank").to_pylist() == [0] * 7 + [1] * 7
    assert len(run.calls()) == table.num_rows == 14
    assert run.calls(ranks=[1]).to_arrow() == table.slice(7)


def one_sided(tmp_path: Path) -> Path:
    """Rank 0 prepares a receive, starts and cancels it; it locks rank 1's part of a window, shared
    and exclusively, and opens an epoch for rank 1 on the communicator's third window."""
    made = RawStream(0, ranks=2)
    receive, start, action, window, lock, epoch, exclusive = 3, 7, 11, 9, 8, 5, 8
    for number, (name, class_number, words) in enumerate(
        [
            ("MPI_Init", CONTROL_CLASS, [0, 0]),
            ("MPI_Recv_init", receive, [0, 1, 9, 32, 2, -2, -1]),
            ("MPI_Start", start, [1, 1]),
            ("MPI_Cancel", action, [1, 1]),
            ("MPI_Win_lock", window, [lock, 0, 1, 0, exclusive, 0, 0]),
            ("MPI_Win_lock", window, [lock, 0, 1, 0, 0, 0, 0]),
            ("MPI_Win_start", window, [epoch, 0, -1, 0, 0, 1, 1, 2]),
        ]
    ):
        made.name(number, 0, name)
        made.define(number + 1, number, class_number, words)
        made.call(number + 1, 10, 10)
    made.save(tmp_path)
    engine.pack(tmp_path, tmp_path / "run.tailrace")
    return tmp_path / "run.tailrace"


def test_requests_that_are_acted_on_and_windows(tmp_path: Path) -> None:
    run = tailrace.open(one_sided(tmp_path))
    names = ("request", "acts_on", "peer", "peers", "window", "exclusive")
    table = run.calls(ranks=[0]).to_arrow().select(names).to_pylist()
    assert [tuple(row.values()) for row in table[1:]] == [
        (0, [], 1, [], None, None),
        (None, [0], None, [], None, None),
        (None, [0], None, [], None, None),
        (None, [], 1, [], 0, True),
        (None, [], 1, [], 0, False),
        (None, [], None, [1], 2, None),
    ]


def test_a_stretch_ranks_and_a_file(trace: Path) -> None:
    run = tailrace.open(trace)
    stretch = rows(run.calls(begin_s=150e-9, end_s=400e-9, ranks=[1]))
    assert [(row[2], row[5]) for row in stretch] == [
        *(("pwrite", 110), ("MPI_File_write_all", 100), ("pwrite", 300)),
    ]
    assert len(run.calls(file="/run/out.nc")) == 8
    frame = run.calls(file=run.files["path"][0], ranks=[0]).to_pandas()
    assert frame["bytes"].tolist() == [8, 8, 4, 4]
    # MPI-IO's own call is listed beside the calls inside it: `depth` and `layer` tell them apart
    assert frame[frame["layer"] == "posix"]["bytes"].sum() == run.files["bytes_written"][0] / 2


def test_other_libraries_read_the_stream_in_batches(trace: Path) -> None:
    reader = pa.RecordBatchReader.from_stream(tailrace.open(trace).calls())
    assert sum(batch.num_rows for batch in reader) == 14


def test_a_stream_that_is_left_early_ends_its_reader(trace: Path) -> None:
    """Nothing keeps the process alive, and nothing is left to wait for."""
    code = (
        "import sys, tailrace\n"
        "capsules = [tailrace.open(sys.argv[1]).calls().__arrow_c_stream__() for _ in range(50)]\n"
        "print(len(capsules))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, str(trace)], capture_output=True, text=True, timeout=60
    )
    assert (answer.returncode, answer.stdout.strip()) == (0, "50"), answer.stderr


def test_what_the_trace_does_not_have(trace: Path, tmp_path: Path) -> None:
    run = tailrace.open(trace)
    with pytest.raises(ValueError, match="ranks must be 0 to 1, not 2"):
        len(run.calls(ranks=[2]))
    with pytest.raises(ValueError, match="no file of that path"):
        run.calls(file="/none").to_arrow()
    trace.rename(tmp_path / "moved")
    with pytest.raises(tailrace.TailraceError, match=r"run\.tailrace"):
        len(run.calls())


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("bins", 10**9, "bins must be 1 to 65536, not 1000000000"),
        ("bins", 0, "bins must be 1 to 65536, not 0"),
        ("bins", -1, "bins must be 1 to 65536, not -1"),
        ("longest", 10**12, "longest must be 0 to 10000000, not 1000000000000"),
        ("longest", -1, "longest must be 0 to 10000000, not -1"),
        ("eager_limit_bytes", -1, "eager_limit_bytes must be 0 to"),
        ("threads", 10**6, "threads must be 0 to 1024, not 1000000"),
        ("collectives", "some", 'collectives must be "data" or "all", not "some"'),
    ],
)
def test_options_out_of_range_are_refused(trace: Path, option: str, value, says: str) -> None:
    """A timeline of a thousand million bins once aborted the process."""
    with pytest.raises(ValueError) as refused:
        engine.analyze(trace, **{option: value})
    assert says in str(refused.value)


def test_defaults_are_the_engines(trace: Path) -> None:
    given = engine.analyze(trace, eager_limit_bytes=engine.eager_limit_bytes(), collectives="data")
    assert given["ideal_network_ns"] == engine.analyze(trace)["ideal_network_ns"]
    help_text = subprocess.run(
        [sys.executable, "-m", "tailrace", "report", "--help"], capture_output=True, text=True
    ).stdout
    assert f"[default: {engine.eager_limit_bytes() // 1024}K]" in " ".join(help_text.split())


def test_without_critical_paths_all_else_is_the_same(trace: Path) -> None:
    columns = engine.analyze(trace)
    without = engine.analyze(trace, critical_paths=False)
    assert list(columns["dependences"]["paths"]) == [
        "measured",
        "ideal_network",
        "ideal_network_even_io",
        "ideal",
    ]
    assert without["dependences"]["paths"] == {}
    rest = [{**run, "dependences": None, "call_paths": None} for run in (columns, without)]
    assert repr(rest[0]) == repr(rest[1])


def test_a_warning_says_what_to_do(trace: Path) -> None:
    """Both ranks send, nobody receives."""
    (warning,) = engine.analyze(trace)["warnings"]
    assert warning["code"] == "unmatched-messages"
    assert warning["message"] == "2 messages were sent but not received"
    assert "MPI_Pcontrol" in warning["hint"]


def test_sizes_and_uses_of_files_hold_every_call(trace):
    """Each rank writes 8 bytes in 50 ns, then 4 in 30 twice, from 110 to 430 ns of 600."""
    columns = engine.analyze(trace)
    sizes, uses = columns["file_sizes"], columns["file_uses"]
    assert sizes["writes"].tolist() == [[6, 0, 0, 0, 0, 0, 0, 0]] and not sizes["reads"].any()
    assert (sizes["writes_least"].tolist(), sizes["writes_most"].tolist()) == ([4], [8])
    assert uses["file"].tolist() == [0]
    assert uses["write"].sum(axis=2).tolist() == [[110, 110]]
    assert not uses["read"].any() and not uses["other"].any()
    when = uses["write"][0, 0].nonzero()[0] * uses["bin_ns"]
    assert when.min() == 108 and when.max() == 429
