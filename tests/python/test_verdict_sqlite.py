"""What is advised about SQLite's databases, whose files the program itself neither opens nor
locks. Every run is built by arithmetic: a rank computes 4 s, and then SQLite makes these calls."""

from __future__ import annotations

import pytest

from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND, SECOND, Interval, Program, called_from, mpi, read, useful, write
from .test_verdict_why import call

DATABASE, JOURNAL, LOG = b"/run/rows.db", b"/run/rows.db-journal", b"/run/rows.db-wal"


def found(
    *calls: Interval, function: str = "sqlite3_step", other: tuple[Interval, ...] = ()
) -> Finding:
    """The first finding; `other`: what another rank does meanwhile."""
    rows = [[useful(4 * SECOND), *calls]] + [list(other)] * bool(other)
    end = sum(interval.length_ns for interval in rows[0])
    even_ns = 4 * SECOND + (end - 4 * SECOND) // len(rows)
    columns = Program(rows, end, even_ns, 4 * SECOND).columns()
    library = "/usr/lib/libsqlite3.so.0" if function.startswith("sqlite3") else "/m"
    called_from(columns, [(function, library), ("main", "/m")])
    files = len(columns["files"]["path"])
    columns["places"] |= {"file": list(range(files)), "path": [0] * files}
    return judge(Evidence(columns)).findings[0]


@pytest.mark.parametrize(
    ("calls", "code", "advised", "otherwise"),
    [
        ([call("fdatasync", SECOND, 1000, DATABASE)], "sync", "one transaction", "last write"),
        (
            [call("open", SECOND, 1000, JOURNAL), write(MILLISECOND, JOURNAL, 4096_000, 1000)],
            *("reopened", "journal_mode=WAL", "keep it open"),
        ),
        ([call("fcntl", SECOND, 100_000, DATABASE)], "locks", "EXCLUSIVE", "hold a lock only"),
        ([call("stat", SECOND, 100_000, JOURNAL)], "look_ups", "EXCLUSIVE", "inotify"),
        ([call("unlink", SECOND, 1000, JOURNAL)], "metadata", "journal_mode=WAL", "per record"),
        (
            [write(SECOND // 2, DATABASE, 4096 * 10_000, 10_000)],
            *("small_requests", "PRAGMA cache_size", "gather in memory"),
        ),
    ],
)
def test_who_uses_a_database_is_advised_about_transactions(calls, code, advised, otherwise):
    finding = found(*calls)
    assert (finding.code, advised in finding.advice) == (code, True), finding
    assert otherwise not in finding.advice
    finding = found(*calls, function="store")
    assert (finding.code, otherwise in finding.advice) == (code, True), finding


@pytest.mark.parametrize(
    ("path", "advised"),
    [
        (b"/run/env/data.mdb", "many changes into one transaction"),
        (b"/run/db/000004.log", "one WriteBatch"),
        (b"/run/db/MANIFEST-000005", "one WriteBatch"),
        (b"/run/runs.duckdb.wal", "load many rows at once (COPY"),
    ],
)
def test_who_uses_another_database_is_advised_in_its_words(path, advised):
    """LMDB's files have names of their own, as RocksDB's, LevelDB's and mostly DuckDB's."""
    finding = found(call("fdatasync", SECOND, 1000, path), function="put")
    assert (finding.code, advised in finding.advice) == ("sync", True), finding
    finding = found(call("fdatasync", SECOND, 1000, b"/run/000004.logs"), function="put")
    assert (finding.code, advised in finding.advice) == ("sync", False), finding


@pytest.mark.parametrize(
    ("function", "code", "advised"),
    [
        ("fdatasync", "sync", "a larger PRAGMA wal_autocheckpoint"),
        ("unlink", "metadata", "keep one connection open"),
    ],
)
@pytest.mark.parametrize("path", [DATABASE, LOG])
def test_who_keeps_a_log_is_not_told_to_keep_one(function, code, advised, path):
    """Changes go to the log, and from there to the database; who has a log of another one beside
    this has none here."""
    for log in (LOG, b"/run/other.db-wal"):
        calls = (call(function, SECOND, 1000, path), write(MILLISECOND, log, 4096_000, 1000))
        finding = found(*calls)
        kept = LOG in (log, path)
        assert (finding.code, advised in finding.advice) == (code, kept), finding
        assert ("journal_mode=WAL" in finding.advice) != kept
        assert "one transaction" in finding.advice


def test_one_rank_that_fills_a_database_is_not_told_to_let_all_write():
    syncs = call("fdatasync", SECOND, 1000, DATABASE)
    rows = (write(SECOND, DATABASE, 4096 * 1000, 1000), syncs)
    finding = found(*rows, other=(useful(4 * SECOND), mpi(2 * SECOND)))
    assert finding.code in ("serial_writer", "serial_metadata"), finding
    assert finding.advice.startswith("SQLite lets one process at a time write")


def test_the_shell_of_sqlite_reads_text_by_itself():
    """What it imports is no database, though its functions without symbols bear its name."""
    table = read(MILLISECOND, b"/run/rows.csv", 40_000_000, 1000)
    end = 4 * SECOND + MILLISECOND
    for function, library in (("sqlite3+0x117b0", "posix"), ("sqlite3VdbeExec", "sqlite")):
        columns = Program([[useful(4 * SECOND), table]], end, end, 4 * SECOND).columns()
        called_from(columns, [(function, "/usr/bin/sqlite3"), ("main", "/usr/bin/sqlite3")])
        assert Evidence(columns).library_in(0) == library
