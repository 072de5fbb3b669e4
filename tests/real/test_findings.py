"""What an expert would say of programs that others wrote, on inputs on which something costs: the
cases of the other files are too small for any cause to be one. Each expectation was written down
from the program's calls, before the verdict was looked at."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import Mpi, find_mpi, without_processor_waits
from tests.real import inputs
from tests.real.harness import Bench, Program, needs
from tests.real.test_python_mpi import ENVIRONMENT, PYTHON, SCRIPT, modules, of_ranks, script
from tests.real.test_runtimes import JAVA, compiled
from tests.real.test_simulations import gromacs, pseudopotentials

pytestmark = [
    pytest.mark.whole,
    pytest.mark.alone,
    pytest.mark.measured("what takes longest in a run of about a second"),
]

FILES, CALLS, SYNCS, TASKS, ELEMENTS = 4000, 200_000, 300, 60_000, 20_000


@pytest.fixture
def debian() -> Mpi:
    return find_mpi("system-openmpi")


def captured(folder: Path, program: Program) -> Run:
    outcome, run = Bench(folder).captured(program)
    assert outcome.status == program.status, outcome.stderr.decode()
    return run


def said(run: Run) -> str:
    return "\n".join([run.headline, *(f"{f.code}: {f.finding} → {f.advice}" for f in run.findings)])


def assert_found(run: Run, code: str, words: str, advised: str) -> None:
    """Beside what the first line says of a busy machine's processors."""
    run = without_processor_waits(run)
    found = [finding for finding in run.findings if finding.code == code]
    assert found and re.search(words, found[0].finding), said(run)
    assert advised in found[0].advice, said(run)


def small_files(work: Path) -> None:
    """Of 8 to 1,024 B, 8 more each time: 128 of them have 516 B on average."""
    (work / "in").mkdir()
    for number in range(FILES):
        (work / "in" / f"f{number:04d}").write_bytes(b"%07d " % number * (number % 128 + 1))


@pytest.mark.parametrize(
    ("package", "words", "files"),
    [
        ("tar", ["tar", "-cf", "out.tar", "in"], FILES),
        ("coreutils", ["cp", "-r", "in", "out"], 2 * FILES),
    ],
)
def test_opening_each_of_many_small_files_is_the_cause(package, words, files, tmp_path) -> None:
    """strace: thousands of openat, fstat, read (or copy_file_range) and close. cp opens each file
    that it reads, and each that it makes. Whether their names take longer than their bytes is up to
    the machine."""
    run = captured(tmp_path, Program([needs(package, words[0]), *words[1:]], small_files))
    found = rf"{files:,} files of 51\d B on average: (their opens|reading them|writing them)"
    assert_found(run, "many_files", found, "put the small files into one")


JAVA_SYNCS = f"""
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
public class Main {{
    public static void main(String[] arguments) throws Exception {{
        FileChannel journal = FileChannel.open(
            Paths.get("journal.dat"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        for (int i = 0; i < {SYNCS}; i++) {{
            journal.write(ByteBuffer.wrap(("record " + i + "\\n").getBytes()));
            journal.force(true);
        }}
    }}
}}
"""


@pytest.mark.parametrize(
    ("source", "status", "words", "advised"),
    [
        (JAVA.format(calls=CALLS), 3, f"{CALLS:,} small writes of 1 B on average", "gather in mem"),
        (JAVA_SYNCS, 0, f"{SYNCS} fsyncs of", "synchronise once per output"),
    ],
)
def test_java_s_thread_beside_the_main_one_is_named(
    source, status, words, advised, tmp_path
) -> None:
    """Java runs main() in a thread beside the process's own, which waits for it; and it maps its
    classes, which is no I/O of the program."""
    program = Program(compiled(tmp_path, source), lambda work: None, status=status)
    run = captured(tmp_path, program)
    assert re.match(rf"(.*\. )?Other threads .*\({words}", run.headline), said(run)
    assert "mapping" not in run.headline, said(run)
    (found,) = [finding for finding in run.findings if finding.code == "overlapped_io"]
    assert advised in found.advice, said(run)


NODE = """
const fs = require("fs");
const output = fs.openSync("lines.dat", "w");
for (let i = 0; i < {number}; i++) {{ {body}; }}
"""


@pytest.mark.parametrize(
    ("body", "number", "code", "words", "advised"),
    [
        (
            'fs.writeSync(output, "line\\n")',
            *(CALLS, "small_requests", f"{CALLS:,} small writes of 5 B on average", "gather"),
        ),
        (
            'fs.appendFileSync("log.txt", "line\\n")',
            *(20_000, "reopened", "log.txt is opened 20,000 times, for 1.0 requests each", "once"),
        ),
        (
            'fs.writeSync(output, "record\\n"); fs.fsyncSync(output)',
            *(SYNCS, "sync", f"{SYNCS} fsyncs of", "synchronise once per output"),
        ),
    ],
)
def test_node_s_habit_is_named(body, number, code, words, advised, tmp_path) -> None:
    node = needs("nodejs", "node")

    def program(work: Path) -> None:
        (work / "main.js").write_text(NODE.format(number=number, body=body))

    assert_found(captured(tmp_path, Program([node, "main.js"], program)), code, words, advised)


ELEMENT_BY_ELEMENT = f"""
import h5py
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
with h5py.File("out.h5", "w", driver="mpio", comm=world) as output:
    data = output.create_dataset("u", ({ELEMENTS}, ranks), dtype="f8")
    for row in range({ELEMENTS}):
        data[row, rank] = row / 2
"""


def test_h5py_writes_element_by_element(debian: Mpi, tmp_path: Path) -> None:
    """strace: 20,000 pwrites of 8 B by each of two ranks, every other 8 bytes of one file; and some
    for the file's tables. Most of the run is Python's: they take a few percent of it."""
    modules("mpi4py", "h5py")
    run = captured(tmp_path, of_ranks(debian, ELEMENT_BY_ELEMENT))
    words = r"40,0\d\d small writes of 8 B on average, interleaved by 2 ranks in out\.h5"
    assert_found(run, "small_requests", words, "H5FD_MPIO_COLLECTIVE")


RECORDS = """
import netCDF4, numpy
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
if rank == 0:
    output = netCDF4.Dataset("out.nc", "w", format="NETCDF3_64BIT_OFFSET")
    output.createDimension("t", None)
    output.createDimension("x", 500 * ranks)
    fields = [output.createVariable(f"v{i}", "f8", ("t", "x")) for i in range(10)]
for step in range(200):
    parts = world.gather(numpy.full((10, 500), step + rank, "f8"))
    if rank == 0:
        values = numpy.concatenate(parts, axis=1)
        for i in range(10):
            fields[i][step, :] = values[i]
            output.sync()
if rank == 0:
    output.close()
"""


def test_netcdf_is_written_by_rank_0_record_by_record(debian: Mpi, tmp_path: Path) -> None:
    """200 records of 10 variables of 8 kB, 16 MB in all. netCDF-3 fills each record, all variables
    of it, before the first of them is written: more than twice the bytes."""
    modules("mpi4py", "netCDF4")
    run = captured(tmp_path, of_ranks(debian, RECORDS))
    assert_found(run, "serial_writer", r"rank 0 writes out\.nc alone while the other rank", "all r")
    words = r"[345]\d\.\d MB are written to 16\.0 MB of out\.nc"
    assert_found(run, "redundant_writes", words, "do not fill what is written anyway")


SYNCHRONISED = """
import netCDF4, numpy
with netCDF4.Dataset("out.nc", "w", format="NETCDF4") as output:
    output.createDimension("t", None)
    output.createDimension("x", 64)
    fields = [output.createVariable(f"v{i}", "f8", ("t", "x")) for i in range(20)]
    for step in range(300):
        for field in fields:
            field[step, :] = numpy.arange(64.0) * step
        output.sync()
"""


def test_netcdf_writes_its_tables_again_at_each_step(tmp_path: Path) -> None:
    """3 MB of values, and 27 MB written: 34 pwrites in each of 300 nc_sync, by way of H5Fflush,
    which the program does not call."""
    modules("netCDF4")
    program = Program([PYTHON, SCRIPT], script(SYNCHRONISED), ENVIRONMENT)
    words = r"10,[2-4]\d\d writes of 2\.\d\d kB on average, made by nc_sync"
    assert_found(captured(tmp_path, program), "small_requests", words, "call nc_sync less often")


POOL = f"""
from mpi4py.futures import MPIPoolExecutor
def looked_up(number):
    with open("table.dat", "rb", buffering=0) as table:
        table.seek(number % 200 * 8)
        return int(table.read(8))
if __name__ == "__main__":
    with open("table.dat", "w") as table:
        for i in range(200):
            table.write(f"{{i:8d}}")
    with MPIPoolExecutor(max_workers=2) as pool:
        print(sum(pool.map(looked_up, range({TASKS}), chunksize=5000)))
"""


def test_the_workers_of_futures_open_a_table_for_each_task(debian: Mpi, tmp_path: Path) -> None:
    """strace: openat, fstat, lseek, read and close, 60,000 times, and once by the master. The main
    thread of the master waits in a lock, for which no trace has a reason."""
    modules("mpi4py")
    run = captured(tmp_path, of_ranks(debian, POOL, ranks=1))
    words = (
        rf"and file calls take [\d.]+ % of rank [12]'s time \(table\.dat is opened {TASKS + 1:,} t"
    )
    assert_found(run, "other_threads", words, "open the file once and keep it open")


def test_gromacs_gathers_for_each_frame(debian: Mpi, tmp_path: Path) -> None:
    """300 frames of 1,728 atoms, each collected from two ranks and written by rank 0 through a
    stream of 4 KiB, 4 bytes a call. The last state and its text are written once. To collect takes
    more than to write: file calls alone are a few percent."""
    run = captured(tmp_path, gromacs(debian, tmp_path, edge=12, steps=300))
    words = r"from which traj\.trr (is|and \d other files? are) written, takes at least"
    assert_found(run, "output_routine", words, "write less often")


def test_espresso_makes_text_of_the_density(debian: Mpi, tmp_path: Path) -> None:
    """pp.x gathers the density on rank 0, which writes it as text to `rho`, and again as a cube:
    216,000 values each time."""
    pw, pp = needs("quantum-espresso", "pw.x"), needs("quantum-espresso", "pp.x")
    prepared, variables = tmp_path / "prepared", {**debian.environment, **pseudopotentials()}
    prepared.mkdir()
    (prepared / "al.in").write_text(inputs.ESPRESSO_DENSE)
    (prepared / "pp.in").write_text(inputs.ESPRESSO_DENSITY)
    command = debian.launch(2, pw, "-in", "al.in")
    environment = {**os.environ, **variables}
    subprocess.run(command, cwd=prepared, env=environment, check=True, capture_output=True)

    def copied(work: Path) -> None:
        shutil.copytree(prepared, work, dirs_exist_ok=True)

    run = captured(tmp_path, Program(debian.launch(2, pp, "-in", "pp.in"), copied, variables))
    words = r"between [\d,]+ writes to rho \(formatting, .* takes at least .* on rank 0"
    assert_found(run, "between_calls", words, "write binary numbers")
