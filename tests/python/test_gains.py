"""What a finding's advice would give, on runs that were recorded: one process without MPI, so that
what is spared is what the run is shorter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tailrace
from tailrace.verdict import again, gains
from tailrace.verdict.evidence import Evidence, Finding, Kind
from tailrace.verdict.off_path import overlapped_io_ns

TAILRACE = str(Path(sys.executable).with_name("tailrace"))
SYNC = """
import os, time
file = os.open("output", os.O_CREAT | os.O_WRONLY, 0o600)
for _ in range(100):
    os.write(file, bytes(4096))
    os.fsync(file)
    time.sleep(0.0005)
os.close(file)
"""
# One write in a hundred is one of 64 KiB, which tells a call from its bytes.
SMALL = """
import os
file = os.open("output", os.O_CREAT | os.O_WRONLY | os.O_SYNC, 0o600)
for number in range(400):
    os.write(file, bytes(65536 if number % 100 == 99 else 512))
os.close(file)
"""


def recorded(directory: Path, program: str) -> tailrace.Run:
    command = [TAILRACE, "run", "--no-report", "-o", "trace", "--", sys.executable, "-c", program]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return tailrace.open(directory / "trace")


@pytest.fixture(scope="module")
def sync(tmp_path_factory: pytest.TempPathFactory) -> tailrace.Run:
    return recorded(tmp_path_factory.mktemp("sync"), SYNC)


def found(run: tailrace.Run, code: Kind, text: str = "as it was", said: str = "") -> Finding:
    """A finding of that kind, with what its advice would give."""
    evidence = Evidence(run.columns)
    evidence.__dict__["processors"] = None  # nobody waited for one
    return gains.with_prediction(evidence, Finding(code, said, "", 0.5, text))


def test_without_fsyncs_the_run_is_shorter_by_their_time(sync: tailrace.Run) -> None:
    finding = found(sync, Kind.SYNC)
    spared_ns = int(sync.columns["files"]["sync_ns"].sum())
    expected_s = (sync.times.runtime_ns - spared_ns) / 1e9
    assert finding.prediction is not None
    assert finding.prediction.runtime_s == pytest.approx(expected_s, abs=2e-6)
    assert finding.gain_s == pytest.approx(spared_ns / 1e9, abs=2e-6)
    assert finding.gain.startswith("without these calls the run would take ")
    assert " at best, instead of " in finding.gain
    assert finding.gain.endswith("; as it was")  # what an ideal file system would save
    assert not found(sync, Kind.SYNC, "").gain.endswith(";")


MANY = """
import os
for number in range(400):
    file = os.open(f"part{number}", os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(file, bytes(512))
    os.close(file)
"""


def test_many_files_are_at_best_written_without_opening_each(tmp_path: Path) -> None:
    """What they are written with stays; looking at standard streams that are no files is no I/O.

    A seek of the interpreter's that took long asked the file system for something: a look-up, too.
    """
    run = recorded(tmp_path, MANY)
    finding, files = found(run, Kind.MANY_FILES), Evidence(run.columns).files
    spared_ns = sum(int(files[f"{kind}_ns"].sum()) for kind in ("open", "close", "look_up"))
    seeks_ns = int(files["other_ns"].sum())
    assert spared_ns - 2000 <= finding.gain_s * 1e9 <= spared_ns + seeks_ns
    assert 0 < finding.gain_s < int(run.times.io_ns.sum()) / 1e9


def test_only_calls_of_the_kind_are_spared(sync: tailrace.Run) -> None:
    """It locks nothing: without locks it takes what it took."""
    finding = found(sync, Kind.LOCKS)
    assert finding.prediction is not None and finding.gain_s == 0
    assert finding.prediction.runtime_s == pytest.approx(sync.times.runtime_ns / 1e9)
    assert finding.gain.startswith("without these calls the run would take about as long, ")
    assert "instead" not in finding.gain


def test_gathering_saves_what_calls_take_by_themselves(tmp_path: Path) -> None:
    run = recorded(tmp_path, SMALL)
    finding = found(run, Kind.SMALL_REQUESTS)
    prediction = finding.prediction
    assert prediction is not None
    low, high = prediction.interval_s
    # they are one write now, which takes between the mean of all and what all took
    writes_s = run.columns["files"]["write_ns"].sum() / 1e9
    assert low == pytest.approx(run.times.runtime_ns / 1e9 - writes_s * (1 - 1 / 400), rel=0.02)
    assert low < prediction.runtime_s < high
    assert high == pytest.approx(run.times.runtime_ns / 1e9, rel=0.05)
    assert finding.gain.startswith("with writes gathered up to 4 MB the run would take ")
    assert " (between " in finding.gain and ") instead of " in finding.gain


READ = """
import os
file = os.open("input", os.O_CREAT | os.O_RDWR, 0o600)
os.write(file, bytes(6_400_000))
os.lseek(file, 0, os.SEEK_SET)
for number in range(40_000):
    os.read(file, 65536 if number % 1000 == 999 else 64)
os.close(file)
"""


def test_reads_are_gathered_where_the_finding_is_about_reads(tmp_path: Path) -> None:
    """At best 40,000 take what the first of each 4 MB took, and what copying takes, and each of
    40 larger ones a part of that; writes are as they were, and so is what the interpreter reads."""
    run = recorded(tmp_path, READ)
    finding = found(run, Kind.SMALL_REQUESTS, said="40,000 reads of 128 B on average")
    prediction = finding.prediction
    assert prediction is not None
    files = run.columns["files"]
    (read_ns,) = files["read_ns"][[path.endswith(b"/input") for path in files["path"]]]
    reads_s, runtime_s = int(read_ns) / 1e9, run.times.runtime_ns / 1e9
    low, high = prediction.interval_s
    longest = run.columns["longest"]
    of_input = [file.endswith(b"/input") for file in longest["file"]]
    slowest_s = (longest["end_ns"] - longest["begin_ns"])[of_input].max() / 1e9
    assert 0 <= low - (runtime_s - reads_s) <= 2 * slowest_s + 0.05 * runtime_s
    assert low <= prediction.runtime_s <= high
    assert finding.gain.startswith("with reads gathered up to 4 MB the run would take ")


def test_nothing_is_said_of_gathering_what_is_synchronised_each_time(sync: tailrace.Run) -> None:
    """Each write is followed by an fsync: there is nothing to gather."""
    assert found(sync, Kind.SMALL_REQUESTS).prediction is None


@pytest.mark.parametrize(("value_s", "said"), [(0.90, True), (0.985, False), (1.01, False)])
def test_gathering_is_said_where_it_is_expected_to_save(
    monkeypatch: pytest.MonkeyPatch, value_s: float, said: bool
) -> None:
    """A run of 1 s that would take 0.8 s at best: 2 % less are to be expected."""
    taken_s = {"low": 0.8, "value": value_s, "high": 1.02}
    monkeypatch.setattr(gains, "gathered", lambda steps, size, edge, kind: edge)

    class Steps:
        runtime_ns = 10**9

        def replay(self, merged: str) -> dict[str, int]:
            return {"runtime_ns": round(taken_s[merged] * 1e9)}

    prediction = gains._gathered(Steps(), "write")
    assert (prediction is not None) == said
    assert prediction is None or prediction.interval_s == (0.8, 1.02)


def test_other_findings_stay_as_they_are(sync: tailrace.Run) -> None:
    for code in (Kind.NETWORK, Kind.SERIAL_WRITER, Kind.SLOW_FILE_SYSTEM):
        assert found(sync, code) == Finding(code, "", "", 0.5, "as it was")


def test_nothing_is_said_of_what_cannot_be_taken_again(
    sync: tailrace.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = Finding(Kind.SYNC, "", "", 0.5, "as it was")
    without_trace = Evidence({k: v for k, v in sync.columns.items() if k != "trace"})
    gone = Evidence({**sync.columns, "trace": "/nonexistent/trace.tailrace"})
    for evidence in (without_trace, gone):
        assert gains.with_prediction(evidence, finding) == finding
    monkeypatch.setattr(again, "MOST_EVENTS", 10)
    assert found(sync, Kind.SYNC) == finding


def test_nothing_is_said_where_ranks_waited_for_a_processor(sync: tailrace.Run) -> None:
    class Busy:
        notable = True

    evidence = Evidence(sync.columns)
    evidence.__dict__["processors"] = Busy()
    finding = Finding(Kind.SYNC, "", "", 0.5, "as it was")
    assert gains.with_prediction(evidence, finding) == finding


THREADS = """
import os, threading
def write(name):
    file = os.open(name, os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(file, bytes(4096))
    os.fsync(file)
    os.close(file)
write("main")
thread = threading.Thread(target=write, args=("other",))
thread.start()
thread.join()
"""


def test_nothing_is_said_where_other_threads_use_files(tmp_path: Path) -> None:
    run = recorded(tmp_path, THREADS)
    assert overlapped_io_ns(Evidence(run.columns)) > 0
    assert found(run, Kind.SYNC) == Finding(Kind.SYNC, "", "", 0.5, "as it was")


def test_a_trace_that_was_overwritten_is_read_again(tmp_path: Path) -> None:
    first = found(recorded(tmp_path, SYNC), Kind.SYNC).prediction
    (tmp_path / "trace").rename(tmp_path / "before")
    again = recorded(tmp_path, SYNC.replace("range(100)", "range(10)"))
    second = found(again, Kind.SYNC).prediction
    assert first is not None and second is not None
    spared_ns = int(again.columns["files"]["sync_ns"].sum())
    expected_s = (again.times.runtime_ns - spared_ns) / 1e9
    assert second.runtime_s == pytest.approx(expected_s, abs=2e-6)
    assert second.runtime_s != first.runtime_s  # to the nanosecond, which no two runs share


def test_nothing_is_said_of_a_file_that_cannot_be_found_by_its_name(sync: tailrace.Run) -> None:
    evidence = Evidence(sync.columns)
    evidence.__dict__["processors"] = None
    finding = Finding(Kind.REOPENED, "", "", 0.5, "as it was", file="output\\xff")
    assert gains.with_prediction(evidence, finding) == finding


def test_it_stands_in_the_report(sync: tailrace.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evidence, "processors", None)  # nobody waited for one
    told = {finding["code"]: finding for finding in tailrace.open(sync.path).metrics["verdict"]}
    assert set(told["sync"]["prediction"]) == {"change", "runtime_s", "interval_s"}
    assert " at best, instead of " in told["sync"]["gain"]
