"""Bytes that several ranks write, each over the others'; runs built by arithmetic. Of one rank that
writes or reads the same again test_verdict_why.py speaks."""

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.same_bytes import readers_of_the_same

from .columns import SECOND, Interval, Program, called_from, read, useful, write
from .test_verdict_why import MB, first


def test_ranks_that_write_over_each_others_bytes():
    def of(part: int, reach: tuple[int, int] = (0, 100 * MB)) -> Finding:
        return first(write(SECOND, b"/run/out.dat", part, 30, reach=reach))

    found = of(100 * MB)
    assert found.finding == "each of 4 ranks writes all 100 MB of out.dat"
    assert found.advice.startswith("write on one rank")
    again = of(300 * MB)
    assert again.finding == "each of 4 ranks writes all 100 MB of out.dat 3.00 times"
    assert "write each byte once" in again.advice
    over = of(50 * MB)
    assert over.finding == "200 MB are written to 100 MB of out.dat"
    assert "write each byte once" in over.advice
    assert of(30 * MB).code == "slow_file_system"


def test_a_rank_that_opens_the_file_once_more_makes_no_pass_of_it():
    """As ROMIO has a file made by one rank before all open it."""
    passes = write(SECOND, b"/run/out.dat", 100 * MB, 30, reach=(0, 100 * MB))
    closes = [Interval("io", 0, "close", b"/run/out.dat", 0, number) for number in (2, 1)]
    rows = [[useful(SECOND), passes, close] for close in closes]
    (found,) = judge(Evidence(Program(rows, *[2 * SECOND] * 2, SECOND).columns())).findings
    assert found.finding == "each of 2 ranks writes all 100 MB of out.dat"


def test_who_skips_does_not_move_all_of_the_file():
    """A half of it, every other piece, and that twice: as many bytes as there are."""
    skips = {"steps": (1, 28, 1), "reach": (0, 100 * MB)}
    name = b"/run/out.dat"
    for act, verb in ((write, "written to"), (read, "read from")):
        found = first(act(SECOND, name, 100 * MB, 30, **skips))
        assert found.finding == f"400 MB are {verb} 100 MB of out.dat"
        whole = first(act(SECOND, name, 100 * MB, 30, steps=(30, 0, 0), reach=(0, 100 * MB)))
        assert whole.finding.startswith("each of 4 ranks ")


def test_who_leaves_gaps_in_one_pass_moves_all_of_the_file():
    """Pieces with a few bytes between them; who opens the file twice may make two passes of it."""
    gaps, name = {"steps": (1, 29, 0), "reach": (0, 100_200_000)}, b"/run/out.dat"
    for act, verb in ((write, "writes"), (read, "reads")):
        opens = Interval("io", 0, "open", name)
        found = first(opens, act(SECOND, name, 100 * MB, 30, **gaps))
        assert found.finding == f"each of 4 ranks {verb} all 100 MB of out.dat"
        twice = first(opens, opens, act(SECOND, name, 100 * MB, 30, **gaps))
        assert twice.finding.startswith("400 MB are ")


def test_who_begins_later_does_not_move_all_of_the_file():
    parts = [write(SECOND, b"/run/out.dat", 100 * MB, 30, reach=(k * MB, 80 * MB)) for k in (0, 9)]
    rows = [[useful(SECOND), part] for part in parts]
    end = 2 * SECOND
    (found,) = judge(Evidence(Program(rows, end, end, SECOND).columns())).findings
    assert found.finding == "200 MB are written to 80.0 MB of out.dat"


def read_through(module: str, on: int) -> Finding:
    """A rank reads 100 MB of 20 MB in 800 pieces, of which `on` follow the one before."""
    lie = {"steps": (on, 799 - on, 1), "reach": (0, 20 * MB)}
    reads = read(SECOND, b"/run/records", 100 * MB, 800, **lie)
    columns = Program([[useful(SECOND), reads]], *[2 * SECOND] * 2, SECOND).columns()
    called_from(columns, [("st_read", module), ("main", "/home/model")])
    (found,) = (f for f in judge(Evidence(columns)).findings if f.code == "redundant_reads")
    assert found.finding == "100 MB are read from 20.0 MB of records"
    return found


def test_records_in_no_order_fill_the_buffer_of_fortran_again():
    """gfortran's direct access: 8 kB of each 131 kB are what the program asked for."""
    advised = "GFORTRAN_UNFORMATTED_BUFFER_SIZE"
    assert advised in read_through("/usr/lib/libgfortran.so.5.0.0", 2).advice
    assert advised not in read_through("/usr/lib/libgfortran.so.5.0.0", 700).advice
    assert advised not in read_through("/usr/lib/libc.so.6", 2).advice


def test_what_all_read_in_tiny_pieces_is_first_advised_to_be_read_in_larger_ones():
    def advised(calls: int) -> str:
        reads = read(SECOND, b"/run/in", 4 * MB, calls, steps=(calls, 0, 0), reach=(0, 4 * MB))
        found = first(reads)
        assert found.finding.startswith("each of 4 ranks reads all 4.00 MB of in")
        return found.advice

    assert advised(250_000).startswith("read larger parts at once")
    assert advised(10).startswith("read on one rank")


def test_one_could_read_for_all_where_each_reads_the_same_once():
    """Four ranks that read all of the file; none where each reads it twice, or one reads it."""

    def readers(bytes_read: int, begin: int, end: int) -> list[int]:
        reads = read(SECOND, b"/run/in", bytes_read, 10, steps=(10, 0, 0), reach=(begin, end))
        columns = Program([[reads]] * 4, *[SECOND] * 2, SECOND).columns()
        return readers_of_the_same(Evidence(columns), 0)

    assert len(readers(4 * MB, 0, 4 * MB)) == 4
    assert readers(8 * MB, 0, 4 * MB) == []
    alone = Program([[read(SECOND, b"/run/in", 4 * MB, 10, reach=(0, 4 * MB))]], *[SECOND] * 3)
    assert readers_of_the_same(Evidence(alone.columns()), 0) == []


def written_twice(function: str) -> Finding:
    """A rank writes 100 MB of a classic file twice, and reads all of it once meanwhile."""
    name, whole = b"/run/wrfout.nc", {"reach": (0, 100 * MB)}
    row = [useful(SECOND), write(SECOND, name, 200 * MB, 2000, **whole)]
    row.append(read(SECOND // 4, name, 100 * MB, 1000, **whole))
    length = 2 * SECOND + SECOND // 4
    columns = Program([row], length, length, SECOND).columns()
    called_from(columns, [(function, "/usr/lib/libnetcdf.so.19"), ("main", "/home/model")])
    (found,) = (f for f in judge(Evidence(columns)).findings if f.code == "redundant_writes")
    assert found.finding == "200 MB are written to 100 MB of wrfout.nc"
    return found


def test_a_classic_file_that_is_filled_first_is_not_said_to_be_moved():
    """Records are filled, read back block by block and written: as many bytes as where all data
    move once to make room for a longer header."""
    filled = written_twice("fill_NC_var")
    assert "nf90_set_fill" in filled.advice and "header" not in filled.advice
    for function in ("nc_enddef", "NC3__enddef", "ncmpi_enddef", "nc_close"):
        assert "moved when its header grows" in written_twice(function).advice


def test_a_classic_file_is_not_advised_about_chunks():
    """200 records of 10 variables, each of them synchronised: 50 MB for 16 MB. Without HDF5 on the
    way netCDF has no chunks; linked statically HDF5 is known by its functions."""
    name, whole = b"/run/out.nc", {"reach": (0, 16 * MB)}
    row = [useful(SECOND), write(SECOND, name, 50 * MB, 4000, **whole)]
    put = ("nc_put_vara", "/usr/lib/libnetcdf.so.19")

    def advised(*inner: tuple[str, str]) -> str:
        columns = Program([row], 2 * SECOND, 2 * SECOND, SECOND).columns()
        called_from(columns, [*inner, put, ("main", "/home/model")])
        (found,) = (f for f in judge(Evidence(columns)).findings if f.code == "redundant_writes")
        assert found.finding == "50.0 MB are written to 16.0 MB of out.nc"
        return found.advice

    classic = advised(("px_pgout", put[1]))
    assert classic.startswith("do not fill") and "nc_sync" in classic and "chunk" not in classic
    for module, function in (("/usr/lib/libhdf5.so.103", "hdf5+0x1"), (put[1], "H5FD_sec2_write")):
        assert advised((function, module)).startswith("in netCDF-4 files choose chunks")


def test_who_reads_each_value_of_a_classic_file_once_is_told_of_its_records():
    """A time series of each of 16 variables, one after the other: of each record netCDF reads a
    block of 9 kB for 800 B, and nothing that the program reads is needed again."""
    block = read(SECOND, b"/run/rec.nc", 432 * MB, 48_000, reach=(0, 48 * MB))
    row = [useful(SECOND), block]
    columns = Program([row], 2 * SECOND, 2 * SECOND, SECOND).columns()
    get = [("px_get", "/usr/lib/libnetcdf.so.19"), ("nc_get_vara", "/usr/lib/libnetcdf.so.19")]
    called_from(columns, [*get, ("main", "/home/model")])
    (found,) = (f for f in judge(Evidence(columns)).findings if f.code == "redundant_reads")
    assert found.finding == "432 MB are read from 48.0 MB of rec.nc"
    assert "read all variables of a record before the next record" in found.advice
    assert "bufrsizehint of nc__open" in found.advice
