"""I/O and MPI beside the main thread's calls, in programs that really run: the first line names it,
with what the kernel counted, and never says that nothing holds the run back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Mpi

from .running import captured

pytestmark = [pytest.mark.slow, pytest.mark.measured("the verdict on a program that ran")]

HERE = Path(__file__).parent
# The tests' directory may be in memory, whose pages the kernel does not count as written.
MOVED = r"6[78]\.\d MB"
# Where other programs keep the processors busy.
WITHOUT_WAITS = r"( \([\d.]+ % without waits for a processor\))?"
PROGRAMS = {
    "uring": MOVED + r" were written through io_uring, which Tailrace does not time",
    "mapping": MOVED
    + r" were written through a mapping of mesh\.bin, which Tailrace does not time",
    "privately": r"[Uu]p to .* a mapping of mesh\.bin|uses a mapping of mesh\.bin",
    "direct": r"[Aa]t least 6[5-8]\.\d MB were written by no call that Tailrace sees",
    "thread": r"[Oo]ther threads move 67\.1 MB of 68\.2 MB and spend \S+ \S+ in file calls",
    "forked": r"The program started another process, which was not recorded and wrote " + MOVED,
    "shell": r"The program started another process, which was not recorded and wrote " + MOVED,
    "send": rf"I/O takes [\d.]+ % of this run{WITHOUT_WAITS}: ",
    "asynchronous": rf"I/O takes [\d.]+ % of this run{WITHOUT_WAITS}: ",
}
POOL = """
import multiprocessing, sys
def part(number):
    with open(f"part.{number}", "wb") as file:
        file.write(bytes(10_000_000))
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(2) as pool:
        pool.map(part, range(4))
        pool.close()
        pool.join()
"""


@pytest.fixture(scope="session")
def off_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    binary = tmp_path_factory.mktemp("off-path") / "off_path"
    command = ["cc", "-O1", "-pthread", "-o", binary, HERE / "off_path.c"]
    subprocess.run(list(map(str, command)), check=True)
    return binary


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    """A directory whose file system's pages the kernel counts where they are written."""
    if "write_bytes" not in Path("/proc/self/io").read_text():
        pytest.skip("this kernel does not count what a process writes")
    kind = subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True)
    if kind.stdout.strip() in ("tmpfs", "ramfs", "overlayfs"):
        pytest.skip(f"{tmp_path} is a {kind.stdout.strip()}, whose pages are not counted")
    return tmp_path


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_first_line_says_which_way_the_bytes_went(name: str, off_path: Path, counted: Path):
    run, _ = captured([off_path, name], counted, dict(os.environ))
    assert re.search(PROGRAMS[name], run.headline), run.headline
    assert "does not hold" not in run.headline


def test_a_ring_that_moves_no_bytes_of_files_is_not_named(off_path: Path, tmp_path: Path):
    run, _ = captured([off_path, "ring_of_events"], tmp_path, dict(os.environ))
    assert "io_uring" not in run.headline, run.headline
    assert "unseen" not in run.columns["meta"]


@pytest.mark.parametrize("way", ["syscall", "libaio"])
def test_io_submit_is_named(way: str, tmp_path: Path, counted: Path):
    """A context alone, which moves nothing, is not."""
    binary = tmp_path / "native_aio"
    libaio = ["-DLIBAIO", "-l:libaio.so.1"] if way == "libaio" else []
    command = ["cc", "-O1", "-o", binary, HERE / "native_aio.c", *libaio]
    if subprocess.run(list(map(str, command))).returncode:
        pytest.skip("the C compiler does not find libaio.so.1")
    run, _ = captured([binary], counted, dict(os.environ))
    said = MOVED + r" were written through io_submit, which Tailrace does not time"
    assert re.search(said, run.headline), run.headline
    (alone := tmp_path / "alone").mkdir()
    run, _ = captured([binary, "not"], alone, dict(os.environ))
    assert "io_submit" not in run.headline


def test_who_waits_for_threads_that_compute_is_told_so(off_path: Path, tmp_path: Path):
    """Two threads run for 0.3 s each, which is all of the run twice, or half of it on one core."""
    run, _ = captured([off_path, "workers"], tmp_path, dict(os.environ))
    said = (
        r"the main thread sleeps [\d.]+ % of the run .*, and other threads run for 6\d\d ms in all"
    )
    assert re.search(said, run.headline), run.headline
    (found,) = [finding for finding in run.findings if finding.code == "sleep"]
    assert "perf record" in found.advice


def test_what_the_main_thread_computes_without_a_call_is_in_the_run(off_path: Path, tmp_path: Path):
    """It computes for 0.3 s after the thread that writes has ended. Where writing takes 15 ms and
    less, the main thread sleeps less than 5 % of the run, and it is said last."""
    run, _ = captured([off_path, "thread_alone"], tmp_path, dict(os.environ))
    (threads,) = [finding for finding in run.findings if finding.code == "overlapped_io"]
    said = "ther threads move all 67.1 MB and spend"
    assert said in threads.finding
    first = r"^(The program waited for a processor .* of the time\. )?O"
    words = first if "main thread sleeps" in threads.finding else "But o"
    assert re.search(words + said, run.headline), run.headline
    assert run.columns["rank"]["useful_ns"][0] >= 300_000_000
    assert run.columns["rank"]["io_ns"][0] == 0


def test_threads_that_sleep_too_are_not_said_to_run(off_path: Path, tmp_path: Path):
    run, _ = captured([off_path, "sleepers"], tmp_path, dict(os.environ))
    assert "main thread sleeps" in run.headline and "threads run" not in run.headline


def test_a_small_table_that_is_mapped_is_no_data(off_path: Path, tmp_path: Path):
    run, _ = captured([off_path, "little"], tmp_path, dict(os.environ))
    assert "mapping" not in run.headline


# As astropy does to know whether files can be mapped.
TRIES = """
import mmap
for _ in range(200_000):
    pass
with open("tried", "wb+") as file:
    file.write(b" ")
    file.flush()
    mmap.mmap(file.fileno(), 1).flush()
"""


def test_who_tries_whether_a_byte_can_be_mapped_moves_nothing_by_that(tmp_path: Path):
    (tmp_path / "tries.py").write_text(TRIES)
    run, _ = captured([sys.executable, "tries.py"], tmp_path, dict(os.environ))
    assert "mapping" not in run.headline
    assert "not_recorded" not in {finding.code for finding in run.findings}


@pytest.mark.parametrize("name", ["again", "reads"])
def test_what_calls_account_for_is_not_called_unseen(name: str, off_path: Path, counted: Path):
    run, _ = captured([off_path, name], counted, dict(os.environ))
    assert "no call that Tailrace sees" not in run.headline, run.headline


# As LMDB does: the data are mapped to be read, and written by calls; locks are stored.
MAPS_TO_READ = """
import mmap, os
data = os.open("data", os.O_RDWR | os.O_CREAT)
os.truncate(data, 8 << 20)
locks = os.open("locks", os.O_RDWR | os.O_CREAT)
os.truncate(locks, 8192)
kept = [mmap.mmap(data, 8 << 20, prot=mmap.PROT_READ), mmap.mmap(locks, 8192)]
for i in range(300):
    for page in range(i % 7, 2048, 400):
        os.pwrite(data, bytes(4096), 4096 * page)
    os.fdatasync(data)
"""
STORES = """
import mmap
with open("data", "w+b") as file:
    file.truncate(8 << 20)
    kept = mmap.mmap(file.fileno(), 8 << 20)
    kept[:] = bytes(range(256)) * (32 << 10)
"""
# A page is written to many times, and counted once.
LOGS = """
log = open("log", "w")
for step in range(3000):
    print("step", step, file=log, flush=True)
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (MAPS_TO_READ, r"the program uses 2 mapped files, whose reads and writes Tailrace"),
        (STORES, r"8\.\d\d MB were written through a mapping of data"),
        (f"{LOGS}{STORES}", r"8\.\d\d MB were written through a mapping of data"),
    ],
)
def test_what_is_mapped_to_be_read_is_not_written(program: str, said: str, counted: Path):
    """Where the kernel's pages are large, it counts more than was written by calls."""
    (counted / "maps.py").write_text(program)
    run, _ = captured([sys.executable, "maps.py"], counted, dict(os.environ))
    assert re.search(said, run.headline), run.headline
    assert ("mapped_writable" in run.columns["meta"]) == program.endswith(STORES)


def test_pages_that_are_stored_to_are_counted(off_path: Path, counted: Path):
    """64 MiB are 16,384 pages of 4 KiB, each of which faults once, unless the file system's pages
    are larger; beside them those of the program's own memory."""
    run, _ = captured([off_path, "mapping"], counted, dict(os.environ))
    served, absent = map(int, run.columns["meta"]["faults"].split())
    assert 64 <= served < 16_384 + 4_000 and absent < 1_000
    (found,) = [finding for finding in run.findings if finding.code == "not_recorded"]
    assert ("page faults, all served by memory" in found.evidence) == (
        served >= 10_000 > absent == 0
    )


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_pool_of_processes_is_counted(method: str, counted: Path):
    """Of a server of forks, which is the same program and recorded, its workers are not; what it
    reads itself, Python's modules, is taken off what was written."""
    (counted / "pool.py").write_text(POOL)
    run, _ = captured([sys.executable, "pool.py", method], counted, dict(os.environ))
    words = r"The program started 2 other processes, which were not recorded and wrote "
    words += r"40\.\d MB" if method == "fork" else r"(3[5-9]|40)\.\d MB"
    assert re.search(words, run.headline), run.headline
    assert "does not hold" not in run.headline


def test_threads_that_call_mpi_are_no_second_line_of_control(mpi: Mpi, tmp_path: Path):
    binary = tmp_path / "talking_threads"
    source = HERE / "talking_threads.c"
    subprocess.run([mpi.mpicc, "-O1", "-pthread", "-o", binary, source], check=True)
    run, _ = captured(mpi.launch(2, binary), tmp_path, mpi.variables())
    words = r"8 other threads spend [\d.]+ % of the run in MPI on average, in 4,000 calls, which no"
    assert re.search(words, run.headline), run.headline
    assert "does not hold" not in run.headline
    assert list(run.columns["rank"]["overlapped_mpi_calls"]) == [2000, 2000]
    assert list(run.columns["rank"]["bytes_by_other_threads"]) == [4 * 25 * 4096] * 2


@pytest.mark.parametrize("words", [[], ["chosen"]])
def test_file_calls_outside_of_the_run_are_told(words: list[str], mpi: Mpi, tmp_path: Path):
    """But not those that the program's MPI_Pcontrol leaves out on purpose."""
    binary = tmp_path / "outside"
    subprocess.run([mpi.mpicc, "-O1", "-o", binary, HERE / "outside.c"], check=True)
    run, _ = captured([*mpi.launch(2, binary), *words], tmp_path, mpi.variables())
    measured_s = sorted(map(float, (tmp_path / "outside.txt").read_text().split()))
    rank = run.columns["rank"]
    # What a rank writes while another is in the run already, or still, is in the run.
    found_s = sorted((rank["outside_io_ns"] + rank["io_ns"]) / 1e9)
    assert min(rank["outside_io_ns"]) > 0
    assert found_s == pytest.approx(measured_s, rel=0.1, abs=0.02)  # it may wait in between
    said = r"s of rank \d's file calls before MPI_Init and after MPI_Finalize are in no number here"
    if words:
        assert "MPI_Init" not in run.headline
    elif measured_s[-1] >= 0.1:
        assert re.search(said, run.headline), run.headline
        assert "does not hold" not in run.headline
        assert "as far as it was recorded" not in run.headline
