"""More programs with one known bottleneck each, in C and in Python, under both MPI families and
without MPI: the first line names it, and blames nothing that is well."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailrace.library import Run
from tailrace.verdict.scaling import scaling_table
from tailrace.verdict.several import headline_of_several
from tests.conftest import Mpi, without_processor_waits

from .running import captured
from .test_planted import planted_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.measured("the first line about a program that ran"),
]

PROGRAMS = Path(__file__).parent / "planted.py"


@dataclass(frozen=True)
class Expected:
    """What the first line says, a word of the advice to that, and kinds of findings (codes) that
    would be false."""

    ranks: int
    words: str
    advised: str = ""
    never: tuple[str, ...] = ()


WRITERS = ("serial_writer", "serial_reader", "few_ranks", "uneven_bytes")
ALL_OF_IO = (*WRITERS, "slow_file_system", "small_requests", "slow_small_requests", "taking_turns")
NO_IO = r"^((\d ranks|The program) .*waited for a processor .*\. )?I/O does not hold this run back"
C = {
    # Collective MPI-IO
    "one_aggregator": Expected(
        4, r"rank 0 alone writes field\.dat for 4 ranks|MPI_File_write_all takes", "", ("sync",)
    ),
    "sync_each_write": Expected(2, r"\d+ fsyncs of \S+ \S+ each take", "synchronise", WRITERS),
    "shared_pointer": Expected(
        2,
        r"the pointer that ranks share, which 8,000 calls of MPI_File_write_shared lock|"
        r"8,000 small writes of 64 B",
        "its own offsets",
    ),
    "ordered": Expected(2, r"MPI_File_write_ordered", "its own offsets", WRITERS),
    "open_each_step": Expected(2, r"MPI_File_open|opened \d+ times", "once", WRITERS),
    "read_all_of_it": Expected(2, r"each of 2 ranks reads all 67\.1 MB of mesh\.dat", "MPI_Bcast"),
    "overlapped": Expected(2, "I/O", "", ALL_OF_IO),
    "waited_for": Expected(
        2, r"waiting for 32 calls of MPI_File_iwrite_at|writing history\.dat at", "", WRITERS
    ),
    "ask_size": Expected(
        2, r"[\d,]+ seeks of \S+ \S+ each, made by MPI_File_get_size,", "call that function once"
    ),
    "sieved_reads": Expected(
        2, r"asked to read 7\.86 MB of grid\.dat, and read \d+ MB", "read collectively"
    ),
    # Names of files
    "config_storm": Expected(
        2, r"settings\.cfg is opened 12,00\d times, for 1\.0 requests each", "open the file once"
    ),
    "rename_storm": Expected(2, r"2,000 renames of", "once per output", ("reopened",)),
    "lock_files": Expected(2, r"10,000 opens of .* 10,000 removals of", "", ("reopened",)),
    "directories": Expected(
        2,
        r"1,200 (mkdirs|rmdirs) of .* and 1,200 (mkdirs|rmdirs) of",
        "make files and directories less",
    ),
    "walk_tree": Expected(2, r"50,\d{3} look-ups of", "look up once"),
    "list_tree": Expected(2, r"2,\d{3} listings of", "list a directory once"),
    "glob_tree": Expected(2, r"120 listings of", "list a directory once"),
    "truncate_each": Expected(2, r"16,000 truncations of", "set a file's size once"),
    "temporary": Expected(2, r"3,000 files of 4\.10 kB on average", "keep in memory"),
    "clean_up": Expected(2, r"8 removals of", "the longer the more it holds"),
    "reserve_each": Expected(2, r"8,000 allocations of", "reserve room once"),
    # Requests
    "backward": Expected(2, r"40,000 reads of 512 B on average go backward in table\.dat", "sort"),
    "sought_reads": Expected(
        2, r"80,000 reads of 512 B on average jump back and forth in table\.dat", "sort"
    ),
    "sought_in_order": Expected(
        2, r"40,000 small reads of 512 B on average", "read larger", ("random_requests",)
    ),
    "direct_small": Expected(
        2, r"4,000 (small )?writes of 4\.10 kB|writing (direct|2 files)|as many writes", ""
    ),
    "append_all": Expected(2, r"40,000 small writes of 60 B on average", "gather", WRITERS),
    "flushed_stdout": Expected(2, r"40,000 flushes of 3\d B on average", "flush where", ("sync",)),
    "whole_for_part": Expected(
        2, r"each of 2 ranks reads (all )?50\.3 MB of basis\.dat", "MPI_Bcast"
    ),
    "all_write": Expected(
        2,
        # or where they meet at the file's own lock
        r"each of 2 ranks writes all 50\.3 MB of state\.dat|one after another",
        "",
        WRITERS,
    ),
    "read_back": Expected(2, r"2\.52 GB are read from 4\.19 MB of 16 files", "keep in memory"),
    "read_each_step": Expected(
        2, r"each of 2 ranks reads all 16\.8 MB of forcing\.dat 60\.0 times", "keep in memory"
    ),
    "headers": Expected(
        2, r"120,000 small reads of 16 B on average, one every 1\.10 kB", "read larger"
    ),
    "placed": Expected(2, r"80,000 seeks of", "pwrite", WRITERS),
    # 2 × 40,000 × 16 B, and 4 KiB at each seek that leaves the buffer, which hardly any does not
    "stream_seeks": Expected(
        2, r"a stream was asked for 1\.28 MB of table\.dat, and read 3\d\d MB", "pread"
    ),
    # Waits
    "looked_for": Expected(
        2, r"100,000 opens of 5 names, hardly any of them closed", "right place", ("reopened",)
    ),
    "tried_flag": Expected(2, r"rank 0 computes [\d.]+ times as long", "balance", ALL_OF_IO),
    "lock_file": Expected(
        2, r"[\d,]+ opens of lock, nearly all of them in vain", "wakes at once", ("reopened",)
    ),
    "held_by_child": Expected(2, r"16 lock calls of \S+ \S+ each", "lslocks", ("serial_metadata",)),
    "sync_for_all": Expected(
        2, r"rank 0 synchronises .* alone|^[^:]*: 30 synchronisations of", "less often", ()
    ),
    "pieces_unmerged": Expected(
        2, r"122,880 small writes of 256 B .*interleaved by 2 ranks", "merge the ranks' pieces"
    ),
    "format_for_all": Expected(
        2,
        r"[Ww]hat lies between [\d,]+ writes to history\.txt \(formatting, .* on rank 0",
        "let every rank do that for its part",
        ("load_imbalance",),
    ),
    "format_unevenly": Expected(
        2,
        r"[Ww]hat lies between [\d,]+ writes to 16 files \(formatting, .* of the run, on rank 1 ",
        "equal parts",
        ("load_imbalance",),
    ),
    "nameless": Expected(
        2, r"4,000 temporary files of 1\.00 kB on average", "keep in memory", ("reopened",)
    ),
    # Roles of ranks
    "few_open": Expected(
        4,
        r"only 2 of 4 ranks write field\.dat while the others wait|one after another|writing field",
        "",
        ("few_aggregators", "serial_writer"),
    ),
    "every_other": Expected(
        4, r"only 2 of 4 ranks write 8 files while the others wait", "more ranks"
    ),
    "last_reads": Expected(3, r"rank 2 reads input\.dat alone while 2 ranks wait", "MPI_Bcast"),
    "uneven_files": Expected(
        4, r"rank 3 makes 53\.3 % of the (opens|closes)|1,200 files of 100 B", ""
    ),
    # where a disk writes all ranks' pages at the first fsync, all wait for them
    "uneven_sync": Expected(
        3,
        r"rank 2 writes 66\.7 % of the bytes|12 fsyncs of",
        "",
        ("straggler", "uneven_calls"),
    ),
    "sync_of_one": Expected(
        3,
        r"rank 0 writes state alone while 2 ranks wait, mostly in 30 fsyncs of|30 fsyncs of",
        "",
        ("many_files", "slow_file_system"),
    ),
    "most_of_one": Expected(
        3, r"rank 0 does 92\.3 % of all writing, mainly on part\.0|writing part\.0", ""
    ),
    "handed_out": Expected(
        4, r"120,000 small writes of 60 B on average", "gather", ("uneven_calls", "uneven_bytes")
    ),
    "small_messages": Expected(2, NO_IO, "", ALL_OF_IO),
    "large_messages": Expected(2, NO_IO, "", ALL_OF_IO),
    "mostly_imbalance": Expected(2, r"^Uneven computation takes .*240,000 small writes of", ""),
    "mostly_lines": Expected(2, r"^I/O takes .*480,000 small writes of 40 B on average", "gather"),
    "writer_thread": Expected(2, NO_IO, "", ALL_OF_IO),
}
PYTHON_MPI = {
    "save_each": Expected(2, r"300 files of 928 B on average", "into one", WRITERS),
    "gather_save": Expected(3, r"rank 0 writes 4 files alone while 2 ranks wait", "all ranks"),
    "load_everywhere": Expected(
        2, r"each of 2 ranks reads (all )?50\.3 MB of mesh\.npy", "MPI_Bcast"
    ),
    "uneven_loop": Expected(2, r"I/O does not hold .*; rank 1 computes", "", ALL_OF_IO),
    "objects_to_and_fro": Expected(2, NO_IO, "", ALL_OF_IO),
    "log_of_all": Expected(2, r"20,000 small writes of 1\d B on average", "gather", WRITERS),
    "chunks_of_h5py": Expected(2, r"6\d,\d{3} small writes of \d+ B on average", "larger", WRITERS),
}
PYTHON = {
    "json_unbuffered": Expected(1, r"32,001 small writes of 5 B on average", "gather"),
    "dump_state": Expected(
        1, r"[Ww]hat lies between [\d,]+ writes to state\.json \(formatting", "", WRITERS
    ),
    "print_flush": Expected(1, r"15,000 small writes of 42 B on average", "gather", ("sync",)),
    "csv_lines": Expected(1, r"12,000 small writes of 37 B on average", "gather"),
    "pickle_steps": Expected(1, r"steps\.pickle is opened 3,000 times", "open the file once"),
    "wait_for_file": Expected(1, r"40,\d{3} look-ups of", "inotify"),
    "list_directory": Expected(1, r"[\d,]+ listings of", "list a directory once"),
    "read_lines_unbuffered": Expected(1, r"30,001 small reads of 1 B on average", "read larger"),
    "sqlite_rows": Expected(1, r"\d+ fdatasyncs of \S+ \S+ each take", "into one transaction"),
    "sqlite_log": Expected(1, r"40\d fdatasyncs of \S+ \S+ each take", "wal_autocheckpoint"),
    "sqlite_table": Expected(
        1, r"[Ww]hat lies between [\d,]+ writes to rows\.db \(what SQLite does", "executemany"
    ),
    "read_small_files": Expected(1, r"1,\d{3} files of", "put the small", ("between_calls",)),
    "replace_and_read": Expected(1, r"1,\d{3} files of"),
    "lock_each_step": Expected(1, r"200,000 lock calls of \S+ \S+ each", "", ("many_files",)),
    "pickle_objects": Expected(
        1, r"[Ww]hat lies between [\d,]+ writes to state\.pkl \(pickling", "numpy.save"
    ),
    "pack_arrays": Expected(
        1, r"savez_compressed, from which 3 files are written, takes at least", "numpy.savez"
    ),
    "rewrite_history": Expected(1, r"history\.json is opened and written anew 300 times", "append"),
    "temporary_files": Expected(1, r"[\d,]+ files of", "keep in memory"),
    "copy_files": Expected(1, r"writing 1[23] files at", "a link, or a clone"),
    "replace_record": Expected(1, r"60 (fsyncs|renames) of \S+ \S+ each", ""),
    "compute_only": Expected(1, NO_IO, "", (*ALL_OF_IO, "network")),
}
# What is there before the run, by another of these programs.
BEFORE = {"list_directory": "make_names"}
# What the sentence about the same program on one rank and on two gives as the reason.
SCALING = {
    "lines_of_one": r"I/O balance efficiency falls from [\d.]+ % to [\d.]+ %",
    "messages_of_more": r"transfer efficiency falls from [\d.]+ % to [\d.]+ %",
    "work_of_each": r"computation scalability falls from 100 % to [\d.]+ %",
}


def recorded(command: Sequence[str | Path], folder: Path, environment: dict[str, str]) -> Run:
    (folder / "files").mkdir(exist_ok=True)
    run, _ = captured([*command, folder / "files"], folder, environment)
    return run


def check(run: Run, expected: Expected) -> None:
    if expected.words != NO_IO:
        run = without_processor_waits(run)
    said = "\n".join([run.headline, *(f"{f.code}: {f.finding}" for f in run.findings)])
    assert re.search(expected.words, run.headline), said
    if expected.advised:
        named = [
            f
            for f in run.findings
            if re.search(expected.words.split("^I/O takes .*")[-1], f.finding)
        ]
        assert expected.advised in named[0].advice, named[0].advice
    assert not {f.code for f in run.findings} & set(expected.never), said


@pytest.mark.sampled
@pytest.mark.parametrize("name", C)
def test_in_c(mpi: Mpi, planted: Path, name: str, tmp_path: Path):
    check(planted_run(mpi, planted, name, C[name].ranks, tmp_path), C[name])


def test_locks_of_atomic_access_are_not_to_be_spared_by_other_ways_of_writing(
    mpi: Mpi, planted: Path, tmp_path: Path
):
    """Two for each of 40,000 writes."""
    run = without_processor_waits(planted_run(mpi, planted, "atomic_access", 2, tmp_path))
    (locks,) = [finding for finding in run.findings if finding.code == "locks"]
    assert re.match(r"80,00\d lock calls of", locks.finding)
    assert locks.advice.startswith("leave out MPI_File_set_atomicity")


@pytest.mark.sampled
@pytest.mark.parametrize("name", SCALING)
def test_why_it_does_not_scale(mpi: Mpi, planted: Path, name: str, tmp_path: Path):
    runs = []
    for ranks in (1, 2):
        folder = tmp_path / str(ranks)
        folder.mkdir()
        runs.append(without_processor_waits(planted_run(mpi, planted, name, ranks, folder)).columns)
    line = headline_of_several(runs, ["one", "two"], scaling_table(runs, kind="strong"))
    assert re.match(rf"From 1 to 2 ranks the run .*(because|is that) {SCALING[name]}\.$", line), (
        line
    )


@pytest.mark.sampled
@pytest.mark.parametrize("name", PYTHON_MPI)
def test_in_python_under_mpi(mpi: Mpi, modules: Path, name: str, tmp_path: Path):
    (library,) = (Path(mpi.mpicc).parents[1] / "lib").glob("libmpi.so.[0-9]*")
    environment = mpi.variables(PYTHONPATH=modules, MPI4PY_LIBMPI=library)
    command = mpi.launch(PYTHON_MPI[name].ranks, sys.executable, PROGRAMS, name)
    check(recorded(command, tmp_path, environment), PYTHON_MPI[name])


@pytest.mark.parametrize("name", PYTHON)
def test_in_python(name: str, tmp_path: Path):
    command = [sys.executable, PROGRAMS, name]
    if name in BEFORE:
        (tmp_path / "files").mkdir()
        before = [sys.executable, PROGRAMS, BEFORE[name], tmp_path / "files"]
        subprocess.run(before, check=True)
    check(recorded(command, tmp_path, dict(os.environ)), PYTHON[name])
