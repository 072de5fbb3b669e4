"""Findings about MPI-IO: aggregators, shared pointers, collective calls; each where it holds, and
where it does not. Every run is built by arithmetic."""

from dataclasses import replace

import pytest

from tailrace.verdict.advice import advice
from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.io_findings import _calling
from tailrace.verdict.requests import KINDS, mpiio_ways

from .columns import MILLISECOND, SECOND, Interval, Program, mpi, read, useful, write

RANKS = 4
FIELD = b"/run/field.dat"


def called(function: str, length_ns: int = MILLISECOND, path: bytes = FIELD) -> Interval:
    """Time of MPI-IO itself on the file."""
    return Interval("io", length_ns, function, path, 0, 1, "mpiio")


def aggregated(function: str, writers: int = 1, callers: int = RANKS) -> Program:
    """All compute 6 s; the first `callers` call `function` for 1 ms, and `writers` of these write
    for 2 s. T_even: 6 s and a share of the writers' 2 s."""
    rows = []
    for rank in range(RANKS):
        calls = [called(function)] if rank < callers else [mpi(MILLISECOND)]
        data = write(2 * SECOND, FIELD, 10**9, 100) if rank < writers else mpi(2 * SECOND)
        rows.append([useful(6 * SECOND), *calls, data])
    even = 6 * SECOND + MILLISECOND + 2 * SECOND * writers // RANKS
    return Program(rows, 8 * SECOND + MILLISECOND, even, 6 * SECOND)


def first(program: Program, **meta: str) -> Finding:
    """The largest finding about who does the I/O."""
    program.meta |= meta
    findings = judge(Evidence(program.columns())).findings
    return next(finding for finding in findings if finding.ranks)


def test_an_aggregator_is_named_where_ranks_call_together():
    found = first(aggregated("MPI_File_write_all"))
    assert found.code == "few_aggregators"
    assert found.finding == "rank 0 alone writes field.dat for 4 ranks that call MPI-IO together"
    assert "cb_nodes=N" in found.advice
    found = first(aggregated("MPI_File_write_at_all_c"), mpi="Open MPI v5.0.10, package: x")
    assert "io_ompio_num_aggregators" in found.advice
    two = first(aggregated("MPI_File_write_all", writers=2))
    assert two.finding == "only 2 ranks write field.dat for 4 ranks that call MPI-IO together"


@pytest.mark.parametrize("library", ["MPICH 5.0", "Open MPI v4.1.4"])
def test_an_aggregator_that_reads_is_advised_about_reading(library):
    program = aggregated("MPI_File_read_all")
    program.ranks[0][-1] = read(2 * SECOND, FIELD, 10**9, 100)
    found = first(program, mpi=library)
    assert found.finding == "rank 0 alone reads field.dat for 4 ranks that call MPI-IO together"
    assert found.advice.startswith("let more ranks read: ")


@pytest.mark.parametrize(
    ("function", "callers", "advised"),
    [
        ("MPI_File_write_at", 2, "open the file on more ranks"),  # in a communicator of two
        ("MPI_File_write_all", 2, "open the file on more ranks"),
        ("MPI_File_write_at", RANKS, "let more ranks, or all, take part"),
    ],
)
def test_who_calls_on_its_own_is_not_told_to_take_more_aggregators(function, callers, advised):
    """Nor where no other rank has opened the file: aggregators are chosen among those."""
    found = first(aggregated(function, 2, callers), mpi="Open MPI v4.1.4")
    assert found.finding == "only 2 of 4 ranks write field.dat while the others wait"
    assert found.advice.startswith(advised)


@pytest.mark.parametrize(
    ("function", "writers", "callers", "code"),
    [
        ("MPI_File_write_at", 1, RANKS, "serial_writer"),  # each calls on its own
        ("MPI_File_read_all", 1, RANKS, "serial_writer"),  # together, but to read
        ("MPI_File_write_all", 1, 1, "serial_writer"),  # the writer alone calls
        ("MPI_File_write_all", 2, 3, "few_ranks"),  # three call, two of which write
    ],
)
def test_no_aggregator_is_named(function, writers, callers, code):
    assert first(aggregated(function, writers, callers)).code == code


def test_who_waits_for_an_aggregator_does_not_wait_between_the_layers():
    """Three ranks wait 2 s each in MPI_File_write_all, which is what uneven I/O costs: 3/4 of 2 s
    on average. With 1 s more on each rank, that second is left."""
    program = aggregated("MPI_File_write_all")
    program.layers = {"mpiio_ns": 8 * SECOND, "posix_in_mpiio_ns": 2 * SECOND}
    program.layers["between_ns"] = 6 * SECOND
    codes = [finding.code for finding in judge(Evidence(program.columns())).findings]
    assert "between_layers" not in codes
    program.layers |= {"mpiio_ns": 12 * SECOND, "between_ns": 10 * SECOND}
    (found,) = [
        f for f in judge(Evidence(program.columns())).findings if f.code == "between_layers"
    ]
    assert found.share_of_runtime == pytest.approx((10 / 4 - 1.5) / 8.001)


@pytest.mark.parametrize(
    ("function", "advised"),
    [
        ("MPI_File_write_shared", "give each rank its own offsets"),
        ("MPI_File_write_ordered", "give each rank its own offsets"),
        ("MPI_File_write_at_all", "more data in each collective call"),
        ("MPI_File_write_at", "use collective calls"),
    ],
)
def test_small_requests_are_advised_about_in_the_way_they_are_made(function, advised):
    data = write(3 * SECOND, FIELD, 64 * 100_000, 100_000)
    row = [useful(6 * SECOND), data, called(function, SECOND)]
    columns = Program([row] * RANKS, 10 * SECOND, 10 * SECOND, 6 * SECOND).columns()
    names = [str(name) for name in columns["functions"]["name"]]
    # The engine's time of an MPI-IO call holds the calls inside.
    columns["functions"]["time_ns"][names.index(function)] = 4 * RANKS * SECOND
    (found,) = [f for f in judge(Evidence(columns)).findings if f.code == "small_requests"]
    assert advised in found.advice


def test_functions_of_mpiio_are_told_apart():
    names = {
        "MPI_File_write_at_all": "collective",
        "MPI_File_iread_all_c": "collective",
        "MPI_File_write_all_begin": "collective",
        "MPI_File_read_ordered_begin": "shared",
        "MPI_File_iwrite_shared": "shared",
        "MPI_File_iwrite_at": "independent",
        "MPI_File_read": "independent",
    }
    for name, way in names.items():
        table = {"name": [name], "time_ns": [5]}
        assert [key for key, time_ns in mpiio_ways(table).items() if time_ns] == [way], name
    for name in ("MPI_File_set_view", "MPI_File_sync", "MPI_Allreduce", "write"):
        assert not any(mpiio_ways({"name": [name], "time_ns": [5]}).values()), name


def test_who_waits_for_a_rank_that_computes_does_not_wait_between_the_layers():
    """Rank 0 computes 8 s, the other 2 s, and waits for it in MPI_File_write_all: load balance is
    5/8, and nothing is said of MPI-IO. Where 2 of the 6 s are for something else, they are left."""
    rows = [
        [useful(8 * SECOND), mpi(MILLISECOND, "MPI_File_write_all")],
        [useful(2 * SECOND), mpi(6 * SECOND + MILLISECOND, "MPI_File_write_all")],
    ]
    between_ns = 6 * SECOND + 2 * MILLISECOND
    layers = {"mpiio_ns": between_ns, "posix_in_mpiio_ns": 0, "between_ns": between_ns}
    columns = Program(rows, *[8 * SECOND + MILLISECOND] * 3, layers=layers).columns()

    def judged(late_ns: int):
        cause = {"state": ["useful", "io", "useful"], "time_ns": [late_ns, SECOND, SECOND]}
        functions = ["MPI_File_write_all", "MPI_File_write_all", "MPI_Barrier"]
        dependences = {"causes": {"function": functions, "cause": cause}}
        verdict = judge(Evidence(columns | {"dependences": dependences}))
        return verdict.headline, {found.code: found for found in verdict.findings}

    headline, findings = judged(6 * SECOND)
    assert "between_layers" not in findings
    assert "rank 0 computes 1.60 times as long" in headline
    found = judged(4 * SECOND)[1]["between_layers"]
    assert found.share_of_runtime == pytest.approx(2.002 / 2 / 8.001)


def test_the_pointer_that_ranks_share_is_known_by_its_file():
    """As ROMIO keeps it: locked, read and written for each call, always at the same place."""
    pointer = b"/run/.field.dat.shfp.3551734396.23895"
    row = [
        useful(4 * SECOND),
        Interval("mpi", SECOND, "MPI_File_write_shared", calls=2000, layer="mpiio"),
        Interval("io", SECOND, "fcntl", pointer, 0, 4000),
        read(SECOND // 4, pointer, 16_000, 2000, steps=(1, 0, 1999), reach=(0, 8)),
        write(SECOND // 4, pointer, 16_000, 2000, steps=(1, 0, 1999), reach=(0, 8)),
        write(SECOND // 2, FIELD, 512_000, 2000, asked=512_000),
    ]
    end = 7 * SECOND
    found = next(
        found
        for found in judge(Evidence(Program([row, row], end, end, 5 * SECOND).columns())).findings
        if found.code == "small_requests"
    )
    assert found.finding == (
        "the pointer that ranks share, which 4,000 calls of MPI_File_write_shared lock and move in "
        "a file of its own, takes 75.0 % of the I/O time"
    )
    assert found.advice.startswith("give each rank its own offsets")
    assert "8,000 lock calls of 250 µs each and 4,000 reads of 8 B on average" in found.evidence


@pytest.mark.parametrize(
    ("function", "mpi_library", "advised"),
    [
        ("MPI_File_iwrite_all", "Open MPI v4.1.4", "do not block"),
        ("MPI_File_write_all", "Open MPI v4.1.4", "OMPI_MCA_fcoll=vulcan"),
        ("MPI_File_iwrite_all", "MPICH 5.0", "cb_buffer_size"),
    ],
)
def test_calls_that_do_not_block_are_as_many_as_they_ask_for(function, mpi_library, advised):
    """10 calls of 8 MB on each rank, which are counted as such, are 163,840 requests of 512 B, as
    their places tell."""
    calls = Interval(
        *("io", 4 * SECOND, "pwrite", FIELD, 83_886_080, 163_840, "mpiio"),
        steps=(10, 163_830, 0),
        reach=(0, 167_772_160),
        asked=83_886_080,
    )
    asking = Interval("mpi", SECOND, function, calls=10, layer="mpiio")
    row = [useful(4 * SECOND), asking, calls]
    program = Program([row, row], 9 * SECOND, 9 * SECOND, 5 * SECOND, meta={"mpi": mpi_library})
    columns = program.columns()
    for table in ("files", "file_rank"):
        columns[table]["writes"] = columns[table]["writes"] // 16_384
    columns["functions"]["time_ns"] = [8 * SECOND] * len(columns["functions"]["name"])
    found = next(f for f in judge(Evidence(columns)).findings if f.code == "small_requests")
    assert found.finding.startswith("327,680 small writes of 512 B on average")
    assert advised in found.advice


def _below(columns: dict, function: str, **sums: int) -> dict:
    """With a table of places: what was done to FIELD, all of it below this function."""
    names = [name for name in columns["files"] if name.endswith("_ns") and "rank" not in name]
    counts = [column for column, _ in KINDS.values()]
    row = {name: [0] for name in [*names, *counts, "bytes_read", "bytes_written"]}
    row |= {name: [value] for name, value in sums.items()}
    frames = {"function": ["inside", function, "main"], "source": [""] * 3, "line": [0] * 3}
    frames |= {"module": ["libmpi.so.12", "libmpi.so.12", "model"]}
    places = {"file": [columns["files"]["path"].index(FIELD)], "path": [0], "paths": [[0, 1, 2]]}
    return columns | {"places": row | places | {"frames": frames}}


def _written_from(function: str) -> dict:
    """Rank 0 writes FIELD for 2 s below this function, and the others wait."""
    columns = aggregated("MPI_File_write_at_all").columns()
    return _below(columns, function, write_ns=2 * SECOND, bytes_written=10**9)


def test_what_preallocates_is_named_and_not_who_writes_for_it():
    found = judge(Evidence(_written_from("PMPI_File_preallocate")))
    (room,) = [finding for finding in found.findings if finding.code == "preallocation"]
    assert room.finding == (
        "MPI_File_preallocate, which writes 1.00 GB of field.dat on rank 0 while 3 ranks wait, "
        "takes 99.8 % of the I/O time"
    )
    assert (room.ranks, room.gain_s) == ((0,), pytest.approx(2, abs=0.01))
    assert "MPI_File_set_size" in room.advice
    assert "few_aggregators" not in {finding.code for finding in found.findings}


def test_what_is_written_for_others_is_no_preallocation():
    codes = {f.code for f in judge(Evidence(_written_from("PMPI_File_write_at_all"))).findings}
    assert "few_aggregators" in codes
    assert "preallocation" not in codes


@pytest.mark.parametrize(
    ("function", "finding", "advised"),
    [
        ("MPI_File_open", "s each, made by MPI_File_open, take", "open fewer files by MPI-IO"),
        ("PMPI_File_open", "s each, made by MPI_File_open, take", "open fewer files by MPI-IO"),
        ("find_input", "s each take", "broadcast the answer"),
    ],
)
def test_look_ups_of_mpi_are_not_the_programs_to_spare(function, finding, advised):
    """2,000 by each rank, below this function."""
    looked = Interval("io", 2 * SECOND, "stat", FIELD, 0, 2000)
    rows = [[useful(6 * SECOND), looked] for _ in range(RANKS)]
    columns = Program(rows, *[8 * SECOND] * 2, 6 * SECOND).columns()
    calls = {"look_ups": 2000 * RANKS, "look_up_ns": 2 * RANKS * SECOND}
    columns = _below(columns, function, **calls)
    found = judge(Evidence(columns)).findings[0]
    assert found.code == "look_ups"
    assert finding in found.finding
    assert advised in found.advice


@pytest.mark.parametrize(
    ("called", "columns", "maker", "finding"),
    [
        ("stat", ("look_ups", "look_up_ns"), "MPI_File_open", "44 look-ups of 100 ms each"),
        ("lseek", ("others", "other_ns"), "MPI_File_get_size", "44 seeks of 100 ms each"),
    ],
)
def test_only_the_calls_of_the_function_that_is_named_are_counted(called, columns, maker, finding):
    """Each rank makes 2,000 in 2 s, 11 of them below that function in 1.1 s."""
    made = Interval("io", 2 * SECOND, called, FIELD, 0, 2000)
    rows = [[useful(6 * SECOND), made] for _ in range(RANKS)]
    program = Program(rows, *[8 * SECOND] * 2, 6 * SECOND).columns()
    calls = dict(zip(columns, (11 * RANKS, 1100 * MILLISECOND * RANKS), strict=True))
    found = judge(Evidence(_below(program, maker, **calls))).findings[0]
    assert found.finding == f"{finding}, made by {maker}, take 55.0 % of the I/O time"


@pytest.mark.parametrize(
    ("readers", "advised"), [(1, "read larger pieces"), (2, "MPI_File_read_all")]
)
def test_one_rank_alone_has_no_other_to_read_collectively_with(readers, advised):
    """100,000 reads of 32 B by MPI_File_read, on rank 0 or on all."""
    reading = read(2 * SECOND, FIELD, 3_200_000, 100_000, layer="mpiio")
    rows = [[useful(6 * SECOND), reading if rank < readers else mpi(2 * SECOND)] for rank in (0, 1)]
    program = Program(rows, 8 * SECOND, 6 * SECOND + readers * SECOND, 6 * SECOND)
    findings = judge(Evidence(program.columns())).findings
    small = next(finding for finding in findings if finding.code == "small_requests")
    assert advised in small.advice


def waiting(waited_ns: int, in_calls_ns: int) -> Finding:
    """Two ranks begin 8 writes of 4 MB each, and wait for them."""
    begin = Interval(
        *("io", in_calls_ns, "MPI_File_iwrite_at", FIELD, 32_000_000, 8, "mpiio"),
        asked=32_000_000,
    )
    row = [useful(SECOND), begin, Interval("io", waited_ns, "MPI_Wait", layer="mpi")]
    end = SECOND + in_calls_ns + waited_ns
    findings = judge(Evidence(Program([row, row], end, end, SECOND).columns())).findings
    return next(finding for finding in findings if finding.code == "slow_file_system")


def test_waits_for_what_does_not_block_are_in_the_time_of_files():
    found = waiting(900 * MILLISECOND, 100 * MILLISECOND)
    assert found.finding == (
        "waiting for 16 calls of MPI_File_iwrite_at (field.dat) takes 90.0 % of the I/O time"
    )
    assert "compute longer" in found.advice
    assert found.evidence.startswith("64.0 MB are written, at 35.6 MB/s a rank while")
    # Where the calls themselves take the time, as in libraries that write in them, or in the wait.
    found = waiting(100 * MILLISECOND, 900 * MILLISECOND)
    assert found.finding == "writing field.dat at 35.6 MB/s a rank"


@pytest.mark.parametrize(
    ("pieces", "forward", "mpi", "advised"),
    [
        (4096, 4096, "MPICH 5.0", "romio_cb_write=enable"),
        (4096, 4096, "Open MPI v4.1.4", "OMPI_MCA_fcoll=vulcan"),
        (4096, 0, "MPICH 5.0", "more data in each collective call"),  # without gaps
        (1, 1, "MPICH 5.0", "more data in each collective call"),  # one for each call
    ],
)
def test_pieces_that_collective_calls_leave_as_they_are(pieces, forward, mpi, advised):
    """Each rank makes 1,000 collective calls, or as many as make 4,096,000 requests of 256 B."""
    requests, calls = 4_096_000, 4_096_000 // pieces
    steps = (requests - forward * calls, forward * calls, 0)
    data = write(3 * SECOND, FIELD, 256 * requests, requests, layer="mpiio", steps=steps)
    call = replace(called("MPI_File_write_all", SECOND), calls=calls)
    row = [useful(6 * SECOND), data, call]
    times = (10 * SECOND, 10 * SECOND, 6 * SECOND)
    columns = Program([row] * RANKS, *times, meta={"mpi": mpi}).columns()
    names = [str(name) for name in columns["functions"]["name"]]
    columns["functions"]["time_ns"][names.index("MPI_File_write_all")] = 4 * RANKS * SECOND
    (found,) = [f for f in judge(Evidence(columns)).findings if f.code == "small_requests"]
    assert advised in found.advice


@pytest.mark.parametrize(("verb", "advised"), [("read", "read_at_all"), ("write", "write_at_all")])
def test_a_pointer_that_ranks_share_is_advised_about_in_the_direction_of_its_calls(verb, advised):
    words = advice("between_layers", _calling_of(f"MPI_File_{verb}_shared"))
    assert f"MPI_File_{advised}" in words
    # Who sets the pointer back may do so to read or to write.
    seeks = _calling_of("MPI_File_seek_shared", called(f"MPI_File_{verb}_shared"))
    assert advice("between_layers", seeks) == words


def _calling_of(name: str, *beside: Interval) -> str:
    """Which advice the costliest call of MPI-IO gets."""
    data = write(SECOND, FIELD, 10**6, 10, layer="mpiio")
    row = [useful(6 * SECOND), data, called(name, SECOND), *beside]
    end = 8 * SECOND + len(beside) * MILLISECOND
    columns = Program([row] * RANKS, end, end, 6 * SECOND).columns()
    return _calling(Evidence(columns), [(name, 1.0)])


def test_locks_of_atomic_access_are_no_sieving():
    """Two ranks spend 2 s in 100,000 locks of MPI-IO's; the program asked it for atomic access, or
    did not."""

    def advised(*asked: Interval) -> str:
        locks = Interval("io", 2 * SECOND, "fcntl", FIELD, 0, 100_000, layer="mpiio")
        wrote = write(SECOND, FIELD, 100_000_000, 25, layer="mpiio")
        row = [useful(SECOND), *asked, locks, wrote]
        whole = sum(interval.length_ns for interval in row)
        run = Program([row, row], whole, whole, whole - 3 * SECOND)
        found = judge(Evidence(run.columns())).findings
        return next(finding.advice for finding in found if finding.code == "locks")

    asked = Interval("mpi", MILLISECOND, "MPI_File_set_atomicity", FIELD, layer="mpiio")
    assert advised(asked).startswith("leave out MPI_File_set_atomicity")
    assert "data sieving" in advised()
