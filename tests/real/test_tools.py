"""fio, sqlite3, git and tar, none of which uses MPI: as without capture, counted as by strace, and
the cause that an expert would name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.real.harness import Program, Varying, assert_same_bytes, compare, needs

pytestmark = [pytest.mark.whole, pytest.mark.alone]

FILES, ROWS = 300, 60
SURELY = 1.2  # times as long: no other way to sum up says otherwise
# Dates, users and what the kernel measured.
NO_DATES = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}


def no_inputs(work: Path) -> None:
    """What runs without any."""


def small_files(work: Path) -> None:
    """Files of 1 B to 1 kB, each with the same date, so that archives of them are equal."""
    (work / "in").mkdir()
    for number in range(FILES):
        path = work / "in" / f"f{number:04d}"
        path.write_bytes(b"%07d " % number * (number % 128 + 1))
        os.utime(path, (1_700_000_000, 1_700_000_000))
    os.utime(work / "in", (1_700_000_000, 1_700_000_000))


def rows_to_insert(work: Path) -> None:
    lines = [f"insert into t values({number}, 'row {number}');" for number in range(ROWS)]
    (work / "rows.sql").write_text("\n".join(["create table t(a, b);", *lines, ""]))


def test_tar_packs_many_small_files(tmp_path: Path) -> None:
    tar = needs("tar", "tar")
    compared = compare(tmp_path, Program([tar, "-cf", "out.tar", "in"], small_files))
    assert_same_bytes(compared)
    inputs = [path for path in compared.moved if "/in/" in path]
    assert len(inputs) == FILES


def test_tar_unpacks_many_small_files(tmp_path: Path) -> None:
    tar = needs("tar", "tar")

    def archive(work: Path) -> None:
        small_files(work)
        shutil.make_archive(str(work / "all"), "tar", work, "in")
        shutil.rmtree(work / "in")

    compared = compare(tmp_path, Program([tar, "-xf", "all.tar"], archive))
    assert_same_bytes(compared)
    assert f"{FILES + 1:,} files of" in compared.run.headline  # and the archive


def test_sqlite_commits_each_row(tmp_path: Path) -> None:
    sqlite = needs("sqlite3", "sqlite3")
    command = [sqlite, "a.db", ".read rows.sql"]
    compared = compare(tmp_path, Program(command, rows_to_insert))
    assert_same_bytes(compared)
    functions = compared.run.functions.set_index("name")
    calls, times = functions["calls"], functions["time_s"]
    assert calls["fdatasync"] >= 2 * ROWS
    named = re.search(r"([\d,]+) (fdatasyncs|synchronisations|opens) of", compared.run.headline)
    assert named, compared.run.headline
    # On a busy disk it takes as long to create the journal of each row, and to remove it.
    if named[2] == "opens":
        assert times["fdatasync"] < SURELY * (times["open64"] + times["unlink"])
    elif named[2] == "fdatasyncs":
        assert named[1] == f"{calls['fdatasync']:,}"


def test_git_adds_many_small_files(tmp_path: Path) -> None:
    git = needs("git", "git")

    def repository(work: Path) -> None:
        small_files(work)
        (work / "objects").mkdir()
        for path in (".git/objects", ".git/refs/heads"):
            (work / path).mkdir(parents=True)
        (work / ".git/HEAD").write_text("ref: refs/heads/main\n")

    # The index holds inode numbers and times of change.
    varying = Varying(files=("index",))
    program = Program([git, "add", "in"], repository, NO_DATES, varying)
    compared = compare(tmp_path, program)
    assert_same_bytes(compared, random_names=(r"tmp_obj_\w+",))
    assert "files of" in compared.run.headline


@pytest.mark.parametrize("engine", ["psync", "pvsync2"])
def test_fio_writes_directly(engine: str, tmp_path: Path) -> None:
    fio = needs("fio", "fio")
    options = ["--name=job", "--filename=data", "--size=8m", "--bs=4k", "--rw=randwrite"]
    options += ["--direct=1", "--thread", "--randseed=1", "--output=report.txt"]
    options += [f"--ioengine={engine}", "--buffer_pattern=0xab", "--allow_file_create=1"]
    varying = Varying(files=("report.txt",))
    compared = compare(tmp_path, Program([fio, *options], no_inputs, varying=varying))
    assert compared.moved[str(tmp_path / "work" / "data")] == (0, 8 << 20)
    assert compared.file("data")["bytes_written"] == 8 << 20


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--ioengine=psync", "--numjobs=2"),
            r"program started 2 other processes, which were not recorded and wrote 1\d\.\d MB",
        ),
        (
            ("--ioengine=libaio", "--direct=1", "--thread"),
            r"8\.\d\d MB were written through io_submit, which Tailrace does",
        ),
        (
            ("--ioengine=mmap", "--thread"),
            r"[78]\.\d\d MB were written.* through a mapping of job\.0\.0, which Tailrace does",
        ),
    ],
)
def test_fio_writes_another_way(options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """The first line says which, and how many bytes the kernel counted."""
    fio = needs("fio", "fio")
    if "io_submit" in said and "libaio" not in _engines(fio):
        pytest.skip("this fio has no libaio")
    words = ["--name=job", "--size=8m", "--bs=64k", "--rw=write", "--output=report.txt"]
    words += ["--buffer_pattern=0xab", *options]
    varying = Varying(files=("report.txt",))
    compared = compare(tmp_path, Program([fio, *words], no_inputs, varying=varying))
    assert re.search(said, compared.headline), compared.headline
    assert "does not hold" not in compared.headline


def _engines(fio: str) -> str:
    return subprocess.run([fio, "--enghelp"], capture_output=True, text=True).stdout


def test_rsync_receives_in_another_process(tmp_path: Path) -> None:
    rsync = needs("rsync", "rsync")

    def larger_files(work: Path) -> None:
        (work / "in").mkdir()
        for number in range(40):
            (work / "in" / f"f{number:04d}").write_bytes(b"%07d " % number * (1 << 14))

    compared = compare(tmp_path, Program([rsync, "-r", "in/", "out"], larger_files))
    words = r"[Tt]he program started .*, which \w+ not recorded and wrote 5\.\d\d MB"
    assert re.search(words, compared.headline), compared.headline
