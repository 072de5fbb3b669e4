"""Programs with one known bottleneck each, under capture with both MPI families: the first line
names it. Numbers of calls, bytes and ranks are exact; times are never asserted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailrace.library import Run
from tests.conftest import Mpi, without_processor_waits

from .running import captured

pytestmark = [
    pytest.mark.slow,
    pytest.mark.measured("the verdict on a run whose slow calls are as slow as the machine is"),
]

# Program: ranks, what the first line says, and a word of the advice.
PLANTED = {
    "interleaved": (2, r"80,000 small writes of 47 B .*interleaved by 2 ranks in shared", "gather"),
    "small_files": (2, r"2,000 files of 900 B on average", "into one"),
    "fsync_each": (2, r"120 fsyncs of \S+ \S+ each take", "once per output"),
    "o_sync": (2, r"120 writes of 4\.10 kB .* wait for a device|writing (journal|2 files)", ""),
    "slow_rank": (4, r"rank 1 takes [\d.,]+ times as long as the others for as many writes", ""),
    "all_read": (2, r"each of 2 ranks reads all 67\.1 MB of input\.dat", "MPI_Bcast"),
    "lock_contention": (2, r"ranks wait for file locks|lock calls of", "lock"),
    "data_sieving": (
        2,
        r"asked to write 33\.6 MB of grid\.dat, and wrote 134 MB|65,536 small writes of 512 B",
        "collective",
    ),
    "independent": (2, r"20,000 small writes of 128 B on average", "MPI_File_write_all"),
    "set_view": (2, r"MPI_File_set_view takes [\d.]+ % .*of the time in MPI-IO", "once, outside"),
    "unbuffered_log": (2, r"80,000 small writes of 54 B on average", "setvbuf"),
    "uneven_bytes": (4, r"rank 3 writes 53\.3 % of the bytes", "equal parts"),
    "random_reads": (2, r"60,000 reads of 512 B on average jump back and forth in table", "sort"),
    "stat_loop": (2, r"120,000 look-ups of", "once"),
    "append_line": (2, r"2 files are opened 12,000 times, for 1\.0 requests each time", "once"),
    "gather_write": (4, r"rank 0 writes 8 files alone while 3 ranks wait", "all ranks"),
    "serial_read": (4, r"rank 0 reads input\.dat alone while 3 ranks wait", "MPI_Bcast"),
    "baton": (2, r"ranks read parts\.dat one after another", "baton"),
    "imbalance": (2, r"rank 1 computes", "balance"),
    "nothing_wrong": (2, r"^(\d ranks .*waited for a processor .*\. )?I/O does not hold", ""),
}
# Where all ranks do the same.
ALIKE = ("interleaved", "small_files", "fsync_each", "o_sync", "all_read", "lock_contention")
ALIKE += ("independent", "unbuffered_log", "random_reads", "stat_loop", "append_line", "baton")


def planted_run(mpi: Mpi, binary: Path, name: str, ranks: int, folder: Path) -> Run:
    files = folder / "files"
    files.mkdir()
    run, _ = captured(mpi.launch(ranks, binary, name, files), folder, mpi.variables())
    return run


def test_what_one_rank_would_read_for_all_is_not_read_by_the_other(
    mpi: Mpi, planted: Path, tmp_path: Path
) -> None:
    """The run is shorter by half of what a rank read at best, where both shared the way to the
    file, and at worst by what the slower one took more."""
    run = without_processor_waits(planted_run(mpi, planted, "all_read", 2, tmp_path))
    (found,) = [finding for finding in run.findings if finding.code == "redundant_reads"]
    assert "with these bytes read by one rank for all the run would take" in found.gain
    assert found.prediction is not None
    table = run.columns["file_rank"]
    reads_s = sorted(ns / 1e9 for ns in table["read_ns"] if ns)[-2:]
    low, high = found.prediction.interval_s
    runtime_s = run.times.runtime_ns / 1e9
    assert 0.4 * reads_s[0] < found.gain_s < reads_s[-1] - 0.4 * reads_s[0]
    assert low < found.prediction.runtime_s < high <= runtime_s + 1e-6
    assert runtime_s - high == pytest.approx(reads_s[1] - reads_s[0], abs=0.1 * reads_s[1])


@pytest.mark.sampled
@pytest.mark.parametrize("name", PLANTED)
def test_the_first_line_names_it(mpi: Mpi, planted: Path, name: str, tmp_path: Path):
    ranks, words, advised = PLANTED[name]
    run = planted_run(mpi, planted, name, ranks, tmp_path)
    if name != "nothing_wrong":
        run = without_processor_waits(run)
    said = "\n".join([run.headline, *(f"{f.code}: {f.finding}" for f in run.findings)])
    assert re.search(words, run.headline), said
    (named, *_) = [f for f in run.findings if re.search(words, f.finding)]
    assert advised in named.advice, named.advice
    if name in ALIKE:
        assert " alone " not in said, said
        assert "only " not in said, said
