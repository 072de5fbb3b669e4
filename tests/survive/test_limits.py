"""Much of everything: files, events, threads; and too little room for the trace."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Mpi
from tests.survive import harness


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harness.build("cc", "alone", tmp_path_factory.mktemp("alone"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system to fill")
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)]
    answer = subprocess.run(mount, capture_output=True, text=True)
    if answer.returncode:
        pytest.skip(f"cannot mount a small file system: {answer.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_more_than_ten_thousand_files(alone: Path, tmp_path: Path, tailrace: list[str]) -> None:
    seen, number = harness.prepare(tmp_path / "seen"), 12_000
    command = [str(alone), str(seen), "files", str(number)]
    process = harness.run(harness.captured(tailrace, tmp_path / "run", command), None)
    assert process.returncode == 0, process.stderr
    found = harness.columns(tmp_path / "run")
    files = found["files"]
    many = [n for n, path in enumerate(files["path"]) if b"/many/file." in path]
    assert len(many) == len({files["path"][n] for n in many}) == number
    assert all(int(files["bytes_written"][n]) == 8 for n in many)
    assert int(found["capture"]["events_lost"]) == 0


def test_sixty_four_threads(alone: Path, tmp_path: Path, tailrace: list[str]) -> None:
    seen, number = harness.prepare(tmp_path / "seen"), 5_000
    command = [str(alone), str(seen), "threads", str(number)]
    process = harness.run(harness.captured(tailrace, tmp_path / "run", command), None)
    assert process.returncode == 0, process.stderr
    found = harness.columns(tmp_path / "run")
    assert harness.calls(found, *harness.WRITES) == 64 * number == sum(harness.counted(seen))
    written = dict(zip(found["files"]["path"], found["files"]["writes"], strict=True))
    assert [int(written[os.fsencode(seen / f"data.{n}")]) for n in range(64)] == [number] * 64


@pytest.mark.whole
def test_five_million_events_a_rank(mpi: Mpi, tmp_path: Path, tailrace: list[str]) -> None:
    program = harness.build(mpi.mpicc, "ranks", tmp_path)
    seen, number = harness.prepare(tmp_path / "seen"), 5_000_000
    command = mpi.launch(2, program, seen, "finalize", number)
    process = harness.run(harness.captured(tailrace, tmp_path / "run", command), mpi.variables())
    assert process.returncode == 0, process.stderr
    found = harness.columns(tmp_path / "run")
    assert harness.calls(found, *harness.WRITES) == 2 * number
    assert int(found["capture"]["events_lost"]) == 0


def test_full_disk_under_the_events(
    alone: Path, tmp_path: Path, small_disk: Path, tailrace: list[str]
) -> None:
    """Where events no longer fit, the program runs on, and the report says how many are missing."""
    seen, number = harness.prepare(tmp_path / "seen"), 1_500_000
    command = [str(alone), str(seen), "write", str(number)]
    options = ("--raw-dir", str(small_disk / "raw"))
    process = harness.run(harness.captured(tailrace, tmp_path / "run", command, *options), None)
    assert process.returncode == 9, process.stderr
    assert process.stdout.splitlines() == ["write begins", "write has written"]
    found = harness.columns(tmp_path / "run")
    recorded, lost = harness.calls(found, *harness.WRITES), int(found["capture"]["events_lost"])
    assert recorded > 100_000, "the room there was has been used"
    assert 0 < lost <= number - recorded + 10, (
        "the writes that are not recorded, and the few calls at the end"
    )
    assert recorded + lost >= number
    assert not found["capture"]["complete"]


def test_disk_full_from_the_start(
    alone: Path, tmp_path: Path, small_disk: Path, tailrace: list[str]
) -> None:
    """No room for a single event: the program's output and status are its own, and one sentence
    says what is wrong."""
    (small_disk / "ballast").write_bytes(bytes(6 << 20))
    seen = harness.prepare(tmp_path / "seen")
    command = [str(alone), str(seen), "write", "1000"]
    process = harness.run(harness.captured(tailrace, small_disk / "run", command), None)
    assert process.stdout.splitlines() == ["write begins", "write has written"]
    assert harness.counted(seen)[0] == 1000
    assert process.returncode == 9
    assert "Traceback" not in process.stderr and "space" in process.stderr.lower()


def test_disk_with_room_for_the_trace_alone(
    alone: Path, tmp_path: Path, small_disk: Path, tailrace: list[str]
) -> None:
    """The trace is whole, and nothing else is said of it: the page is what does not fit."""
    (small_disk / "ballast").write_bytes(bytes((6 << 20) - (88 << 10)))
    seen = harness.prepare(tmp_path / "seen")
    command = [str(alone), str(seen), "write", "1000"]
    process = harness.run([*tailrace, "run", "-o", str(small_disk / "run"), *command], None)
    assert process.returncode == 9
    assert harness.calls(harness.columns(small_disk / "run"), *harness.WRITES) == 1000
    assert "the page could not be made" in process.stderr
    assert "the trace could not be finished" not in process.stderr
