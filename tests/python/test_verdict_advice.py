"""What is advised, in the terms of the calls and of the library in use: each where it fits, and
where it does not. Every run is built by arithmetic."""

from dataclasses import replace
from typing import Any

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.requests import KINDS

from .columns import SECOND, Interval, Program, called_from, mpi, read, useful, write

MEGABYTE = 1_000_000


def between(
    function: str,
    calls: int,
    size: int = 0,
    path: bytes = b"/run/field.dat",
    steps: tuple[int, int, int] = (0, 0, 0),
    code: str = "between_layers",
) -> str:
    """Two ranks spend 3 s in these calls of MPI-IO, and 1 s in writing for them. An ideal network
    saves 2 s of 10 s where that is asked about."""
    inside = Interval("mpi", 3 * SECOND, function, size=size, calls=calls, layer="mpiio")
    written = write(SECOND, path, 10**9, max(sum(steps), 1), layer="mpiio", steps=steps)
    row = [useful(6 * SECOND), inside, written]
    layers = {"mpiio_ns": 8 * SECOND, "between_ns": 6 * SECOND}
    on_ideal_network = (8 if code == "network" else 10) * SECOND
    times = (on_ideal_network, on_ideal_network, on_ideal_network - SECOND)
    found = judge(Evidence(Program([row, row], *times, layers=layers).columns())).findings
    return next(finding.advice for finding in found if finding.code == code)


def test_many_small_calls_of_mpiio_that_go_on_where_they_ended_carry_more():
    """Nothing of them is sieved, and there is nothing to merge in a collective call."""
    small = ("MPI_File_write_at", 500, 500 * 4096)
    going_on, skipping = (499, 1, 0), (1, 499, 0)
    for name, larger in ((b"/run/a.h5", "select larger hyperslabs"), (b"/run/a", "gather in mem")):
        assert between(*small, path=name, steps=going_on).startswith(larger)
    assert "H5FD_MPIO_COLLECTIVE" in between(*small, path=b"/run/a.h5", steps=skipping)
    assert between(*small, steps=skipping).startswith("use the collective call")


def test_large_independent_calls_that_go_on_are_not_sieved():
    """5 MB each; whoever skips may leave holes, which are."""
    large = ("MPI_File_write_at", 500, 2500 * MEGABYTE)
    advised = between(*large, steps=(499, 1, 0))
    assert "external32" in advised and "romio_ds_write" not in advised
    assert "romio_ds_write=disable" in between(*large, steps=(1, 499, 0))
    # nor is there more to be moved in each
    assert "external32" in between(*large, code="network")


@pytest.mark.parametrize(
    ("path", "advised"),
    [
        (
            [("PMPI_File_open", "/usr/lib/libmpi.so"), ("main", "/home/model")],
            "open fewer files by",
        ),
        ([("main", "/home/model")], "make these calls less often there"),
    ],
)
def test_opens_of_one_rank_are_not_to_be_merged(path: list[tuple[str, str]], advised: str):
    """Rank 0 opens 600 times for 3 s, rank 1 300 times for 1 s: each waits for rank 0."""
    opens = [Interval("io", s * SECOND, "open", b"/run/a", 0, 300 * n) for s, n in ((3, 2), (1, 1))]
    rows = [[useful(SECOND), opens[0]], [useful(SECOND), opens[1], mpi(2 * SECOND)]]
    columns = Program(rows, 4 * SECOND, 3 * SECOND, SECOND).columns()
    called_from(columns, path)
    found = judge(Evidence(columns)).findings
    (uneven,) = [finding for finding in found if finding.code == "uneven_calls"]
    assert uneven.finding == "rank 0 makes 66.7 % of the opens and the other waits for it"
    assert uneven.advice.startswith(advised)


def test_a_rank_that_reads_more_slowly_may_read_what_is_not_in_memory():
    """Each of two ranks reads a file of its own by 32 reads, rank 1 for 3 s and rank 0 for 1 s."""
    reads = [read(s * SECOND, b"/run/part.%d" % s, 32 * MEGABYTE, 32) for s in (1, 3)]
    rows = [[useful(SECOND), reads[0], mpi(2 * SECOND)], [useful(SECOND), reads[1]]]
    found = judge(Evidence(Program(rows, 4 * SECOND, 3 * SECOND, SECOND).columns())).findings
    (slow,) = [finding for finding in found if finding.code == "straggler"]
    assert "was in memory" in slow.advice and "O_SYNC" not in slow.advice


def test_who_reads_and_writes_alone_exchanges_nothing_inside_mpiio():
    assert between("MPI_File_write_at", 500, code="network").startswith("move more in each call")
    assert "exchanges the data" in between("MPI_File_write_at_all", 500, code="network")


@pytest.mark.parametrize("function", ["MPI_File_open", "MPI_File_set_view"])
def test_who_opens_files_again_and_again_has_no_aggregators_to_choose(function):
    assert between(function, 500, code="network").startswith("open files and set views less often")


@pytest.mark.parametrize(
    ("function", "calls", "size", "advised"),
    [
        ("MPI_File_set_size", 500, 0, "set the file's size once"),
        ("MPI_File_set_view", 500, 0, "open the file and set the view once"),
        ("MPI_File_open", 2, 0, "the file is set up once"),
        ("MPI_File_get_size", 500, 0, "call it once"),
        ("MPI_File_sync", 500, 0, "synchronise once"),
        ("MPI_File_write_at", 500, 500 * MEGABYTE, "use the collective call"),
        ("MPI_File_read_at", 500, 500 * MEGABYTE, "use the collective call"),
        ("MPI_File_write_at_all", 500, 500 * MEGABYTE, "compare collective with independent"),
        ("MPI_File_write_at_all", 500, 500 * 64, "move more in each collective call"),
        ("MPI_File_write_at_all", 1, 64, "compare collective with independent"),
    ],
)
def test_time_in_mpiio_is_advised_about_by_the_call_that_takes_it(function, calls, size, advised):
    assert between(function, calls, size).startswith(advised)


def test_sieving_of_reads_is_not_that_of_writes():
    assert "romio_ds_read=disable" in between("MPI_File_read_at", 500, 500 * MEGABYTE)
    assert "romio_ds_write=disable" in between("MPI_File_write_at", 500, 500 * MEGABYTE)


@pytest.mark.parametrize(
    ("function", "advised"),
    [("open", "open the file once"), ("ftruncate", "set a file's size once"), ("stat", "look up")],
)
def test_one_rank_that_moves_nothing_is_advised_about_its_calls(function, advised):
    calls = Interval("io", 2 * SECOND, function, b"/run/a", calls=500)
    row, other = [useful(4 * SECOND), calls], [useful(4 * SECOND), mpi(2 * SECOND)]
    times = (6 * SECOND, 5 * SECOND, 4 * SECOND)
    found = judge(Evidence(Program([row, other], *times).columns())).findings
    (serial,) = [finding for finding in found if finding.code == "serial_metadata"]
    assert serial.advice.startswith(advised)


def test_views_that_a_library_sets_are_not_the_programs():
    assert "H5Dwrite" in between("MPI_File_set_view", 500, path=b"/run/field.h5")
    assert "H5Dwrite" not in between("MPI_File_open", 500, path=b"/run/field.h5")
    assert "H5Dwrite" not in between("MPI_File_set_view", 500, path=b"/run/field.nc")
    assert "nc_put_vara" in between("MPI_File_set_view", 500, path=b"/run/field.nc")


def small(
    path: bytes,
    function: str,
    ranks: int = 2,
    mpi: str = "MPICH 5.0",
    way: str = "",
    steps: tuple[int, int, int] = (0, 0, 0),
) -> str:
    """Ranks write 100,000 times 64 B, inside calls of MPI-IO where a function is named, and from a
    function of a library where `way` is."""
    layer = "mpiio" if function else "posix"
    data = write(SECOND, path, 6_400_000, 100_000, layer=layer, steps=steps)
    row = [useful(4 * SECOND), data]
    row += [Interval("mpi", SECOND, function or "MPI_Barrier", layer=layer)]
    times = (6 * SECOND, 6 * SECOND, 5 * SECOND)
    columns = Program([row] * ranks, *times, meta={"mpi": mpi}).columns()
    if way:
        columns["places"] = called(["pwrite", "MPI_File_write_at_all", *way.split(), "main"])
    found = judge(Evidence(columns)).findings
    return next(finding.advice for finding in found if finding.code == "small_requests")


def called(functions: list[str]) -> dict[str, Any]:
    """The table of places of one file with one path, from the inside; libraries are linked in."""
    number = len(functions)
    frames = {"function": functions, "source": [""] * number, "line": [0] * number}
    frames["module"] = ["/home/model"] * number
    zeros = {column: [0] for calls, _ in KINDS.values() for column in (calls,)}
    zeros |= {f"{kind}_ns": [0] for kind in KINDS} | {"bytes_read": [0], "bytes_written": [0]}
    here = {"file": [0], "path": [0], "paths": [list(range(number))], "cut": [False]}
    return zeros | here | {"write_ns": [2 * SECOND], "frames": frames}


def test_libraries_are_known_by_what_is_called_whatever_the_file_is_named():
    collective = "MPI_File_write_at_all"
    for name in (b"/run/wrfout_d01", b"/run/a.nc"):
        parallel = small(name, collective, way="ncmpio_wait ncmpi_put_vara_double_all")
        assert "ncmpi_iput_vara and ncmpi_wait_all" in parallel
        assert "nc_put_vara" in small(name, collective, way="H5Dwrite nc_put_vara_double")
    assert "H5Dwrite" in small(b"/run/restart.0001", collective, way="H5Dwrite")
    assert "H5Dwrite" not in small(b"/run/restart.0001", collective)
    merging = small(b"/run/a.h5", collective, mpi="Open MPI v5.0.11")
    assert "OMPI_MCA_fcoll=vulcan" in merging and "H5Dwrite" in merging


def test_libraries_have_collective_transfers_where_ranks_share_the_file():
    assert "H5FD_MPIO_COLLECTIVE" in small(b"/run/a.h5", "MPI_File_write_at")
    assert "NC_COLLECTIVE" in small(b"/run/a.nc", "MPI_File_write_at")
    for advised in (
        small(b"/run/a.h5", ""),  # serial HDF5
        small(b"/run/a.h5", "MPI_File_write_at", ranks=1),
    ):
        assert "COLLECTIVE" not in advised and "H5Pset_chunk_cache" in advised
    collective = small(b"/run/a.h5", "MPI_File_write_at_all")
    assert "COLLECTIVE" not in collective and collective.startswith("move more in each collective")


@pytest.mark.parametrize(
    ("name", "way", "larger"),
    [
        ("a.h5", "H5Dwrite", "select larger hyperslabs"),
        ("a.nc", "H5Dwrite nc_put_vara_double", "whole slabs per call (nc_put_vara"),
        ("a.nc", "ncmpi_put_vara_double", "whole slabs per call (ncmpi_put_vara"),
        ("field.dat", "", "gather in memory, and write or read more per call"),
    ],
)
def test_collective_calls_are_advised_where_ranks_have_pieces_to_merge(name, way, larger):
    """Who goes on where he ended has his own next piece beside each, and nobody else's."""
    path, function = f"/run/{name}".encode(), "MPI_File_write_at"
    going_on = small(path, function, way=way, steps=(99_999, 1, 0))
    assert going_on.startswith(larger) and "COLLECTIVE" not in going_on
    assert "functions that end in _all" not in going_on and "MPI_File_set_view" not in going_on
    skipping = small(path, function, way=way, steps=(1, 99_999, 0))
    assert "ollective" in skipping and "little to merge" not in skipping


def test_readers_of_classic_files_get_a_larger_buffer_when_they_open_them():
    said = small(b"/run/a.nc", "", way="nc_put_vara_double", ranks=1)
    assert "bufrsizehint of nc__create, nc__open" in said


def test_serial_hdf5_has_no_collective_metadata():
    def advised(layer: str) -> str:
        opens = Interval("io", SECOND, "open", b"/run/a.h5", calls=10, layer=layer)
        row = [useful(4 * SECOND), opens]
        times = (5 * SECOND, 5 * SECOND, 4 * SECOND)
        (found, *_) = judge(Evidence(Program([row, row], *times).columns())).findings
        assert found.code == "metadata"
        return found.advice

    assert "H5Pset_coll_metadata_write" in advised("mpiio")
    assert advised("posix").startswith("open once and keep open")


def test_requests_that_wait_for_the_device_are_told_so_however_large():
    def opened(kind, **meta: str) -> Finding:
        calls = kind(SECOND, b"/run/out", 800 * MEGABYTE, 800)
        run = Program([[useful(SECOND), calls]] * 2, 2 * SECOND, 2 * SECOND, SECOND, meta=meta)
        return judge(Evidence(run.columns())).findings[0]

    direct = opened(write, opened_direct="/run/out")
    assert direct.finding == "writing out at 800 MB/s a rank"
    assert "opened with O_DIRECT; " in direct.evidence and "O_DIRECT" in direct.advice
    assert opened(write, opened_synchronous="/run/out").advice.startswith("O_SYNC and O_DSYNC")
    for quick in (
        opened(write, opened_direct="/run/other"),
        opened(read, opened_synchronous="/run/out"),  # reads do not wait for it
    ):
        assert "SYNC" not in quick.advice and "O_DIRECT" not in quick.advice


@pytest.mark.parametrize(
    ("function", "parts", "code", "advised"),
    [
        ("MPI_File_write_at_all", (160, 1, 1), "serial_writer", "give the ranks equal parts: in c"),
        ("MPI_File_write_at", (160, 1, 1), "serial_writer", "open the file on all ranks"),
        ("MPI_File_write_at_all", (80, 50, 50), "uneven_bytes", "give the ranks equal parts: in c"),
        ("MPI_File_write_at", (80, 50, 50), "uneven_bytes", "give the ranks equal parts, or write"),
    ],
)
def test_who_writes_collectively_need_not_be_told_to(function, parts, code, advised):
    """Each rank writes its part of one file, as many MB in as many times 10 ms."""
    rows = []
    for part in parts:
        wrote_ns, rest_ns = part * SECOND // 100, (max(parts) - part) * SECOND // 100
        calls = Interval("mpi", SECOND // 1000, function, layer="mpiio")
        wrote = write(wrote_ns, b"/run/a.dat", part * MEGABYTE, 8, layer="mpiio")
        rows.append([useful(SECOND), calls, wrote, *([mpi(rest_ns)] if rest_ns else [])])
    end = SECOND + SECOND // 1000 + max(parts) * SECOND // 100
    even = end - max(parts) * SECOND // 100 + sum(parts) * SECOND // 300
    found = judge(Evidence(Program(rows, end, even, SECOND).columns())).findings
    (who,) = [finding for finding in found if finding.code == code]
    assert who.advice.startswith(advised)


def test_who_reads_more_is_advised_about_reading():
    rows = []
    for part in (80, 50, 50):
        rest = [mpi((80 - part) * SECOND // 100)] if part < 80 else []
        size = part * MEGABYTE
        rows.append([useful(SECOND), read(part * SECOND // 100, b"/run/a", size, 8), *rest])
    times = (SECOND + 80 * SECOND // 100, SECOND + 60 * SECOND // 100, SECOND)
    found = judge(Evidence(Program(rows, *times).columns())).findings
    (who,) = [finding for finding in found if finding.code == "uneven_bytes"]
    assert who.finding.startswith("rank 0 reads 44.4 % of the bytes")
    assert who.advice.endswith("or read collectively (MPI_File_read_at_all)")


@pytest.mark.parametrize(
    ("function", "advised"),
    [
        ("sendfile", "copy while the ranks compute"),
        ("copy_file_range", "copy while the ranks compute"),
        ("pwrite", "let all ranks write: MPI_File_write_at_all"),
    ],
)
def test_who_copies_a_file_is_not_told_to_call_mpiio(function, advised):
    """Rank 0 copies for 2 s, and three ranks wait: T_even = 8 + 2/4."""
    copied = Interval("io", 2 * SECOND, function, b"/run/restart.bak", 10**9, 4)
    rows = [[useful(8 * SECOND), rank or copied] for rank in (None, *[mpi(2 * SECOND)] * 3)]
    program = Program(rows, 10 * SECOND, 8 * SECOND + SECOND // 2, 8 * SECOND)
    found = judge(Evidence(program.columns())).findings
    (who,) = [finding for finding in found if finding.code == "serial_writer"]
    assert who.advice.startswith(advised)
    # nor is a single process told to write to another file system
    single = Program([rows[0]], 10 * SECOND, 10 * SECOND, 8 * SECOND)
    (rate,) = judge(Evidence(single.columns())).findings
    assert rate.finding == "writing restart.bak at 500 MB/s"
    alone = "compare with what the file system can do"
    assert rate.advice.startswith(alone if function == "pwrite" else "copy while there is somethin")


@pytest.mark.parametrize(
    ("function", "share", "advised"),
    [
        ("MPI_Bcast", 1.0, "read the next part while the ranks compute"),
        ("MPI_Scatter", 1.0, "let each rank read its own part"),
        ("MPI_Bcast", 0.1, "read the parts on the ranks that need them, or read once and"),
        ("MPI_Allreduce", 1.0, "read the parts on the ranks that need them, or read once and"),
    ],
)
def test_who_broadcasts_what_it_reads_need_not_be_told_to(function, share, advised):
    """Rank 0 reads 100 MB in 2 s, while the other waits for as many."""
    size, names = 100 * MEGABYTE, {"size": int(share * 100 * MEGABYTE)}
    reads = [useful(SECOND), read(2 * SECOND, b"/run/in.dat", size, 100)]
    waits = [useful(SECOND), Interval("mpi", 2 * SECOND, function, layer="mpi", **names)]
    found = judge(Evidence(Program([reads, waits], 3 * SECOND, 2 * SECOND, SECOND).columns()))
    (serial,) = [finding for finding in found.findings if finding.code == "serial_reader"]
    assert serial.advice.startswith(advised)


def test_aggregators_that_write_in_turn_are_not_told_to_write_collectively():
    def advised(function: str) -> str:
        rows = []
        for rank in range(2):
            call = Interval("mpi", SECOND // 1000, function, b"/run/a.dat", layer="mpiio")
            wrote = write(SECOND, b"/run/a.dat", 100 * MEGABYTE, 100, layer="mpiio")
            rows.append([useful(SECOND), call, mpi(rank * SECOND + 1), wrote])
            rows[-1].append(mpi((1 - rank) * SECOND + 1))
        end = 3 * SECOND + SECOND // 1000 + 2
        columns = Program(rows, end, end - SECOND, SECOND).columns()
        path = {"state": ["io", "useful"], "file": [0, -1], "time_ns": [2 * SECOND, SECOND]}
        causes = {"function": [], "cause": {"state": [], "time_ns": []}}
        dependences = {"paths": {"ideal_network": path}, "causes": causes}
        found = judge(Evidence(columns | {"dependences": dependences})).findings
        return next(finding.advice for finding in found if finding.code == "taking_turns")

    assert "numbers of aggregators" in advised("MPI_File_write_at_all")
    assert advised("MPI_File_write_at").startswith("look for a lock or a baton")


def test_one_rank_exchanges_no_data_inside_mpiio():
    inside = Interval("mpi", 3 * SECOND, "MPI_File_write_at_all", size=6400, calls=100)
    inside = replace(inside, layer="mpiio")
    row = [useful(6 * SECOND), inside, write(SECOND, b"/run/a.dat", 10**9, layer="mpiio")]
    layers = {"mpiio_ns": 4 * SECOND, "posix_in_mpiio_ns": SECOND, "between_ns": 3 * SECOND}
    times = (7 * SECOND, 7 * SECOND, 6 * SECOND)

    def judged(ranks: int) -> tuple[str, Finding]:
        several = {name: ranks * time_ns for name, time_ns in layers.items()}
        run = Program([row] * ranks, *times, layers=several)
        verdict = judge(Evidence(run.columns()))
        (found,) = [found for found in verdict.findings if found.code == "between_layers"]
        return verdict.headline, found

    headline, found = judged(1)
    assert "exchange" not in headline and "the rest of MPI-IO up to 30.0 % more" in headline
    assert found.evidence.endswith("the rest is the MPI library itself")
    assert found.advice.startswith("move more in each call, or")
    headline, found = judged(2)
    assert "the exchange inside MPI-IO up to 30.0 % more" in headline
    assert "waiting for other ranks" in found.evidence
