"""`tailrace collect`: what a node still holds comes to the raw directory, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace import nodes
from tailrace.errors import TailraceError

COLLECT = [sys.executable, "-m", "tailrace", "collect"]


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The raw directory of a run whose streams are in $TMPDIR."""
    raw = tmp_path / "trace" / "raw"
    raw.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "own"))
    monkeypatch.delenv("TAILRACE_NODE_DIRECTORY", raising=False)
    place = tmp_path / "own" / nodes.name_run(raw)
    place.mkdir(parents=True, mode=0o700)
    for number in range(2):
        (place / f"host.7.{number}.stream").write_bytes(bytes([number]) * 5000)
    (raw / f"{os.uname().nodename}.at").write_text(str(place))
    (raw / "far.at").write_text("/tmp/elsewhere")
    return raw


def test_streams_become_one_file(raw: Path) -> None:
    done = subprocess.run([*COLLECT, raw.parent], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "2 streams collected\n")
    assert done.stderr == "far still holds its streams in /tmp/elsewhere\n"
    (file,) = raw.glob("*.node")
    content = file.read_bytes()
    assert content[:12] == b"TAILNODE\x01\0\0\0"
    assert len(content) == 16 + 2 * (16 + len("host.7.0.stream") + 5000)
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == []
    (raw / "far.at").unlink()
    again = subprocess.run([*COLLECT, raw], capture_output=True, text=True)
    assert (again.returncode, again.stdout) == (0, "0 streams collected\n")


def test_a_directory_that_others_may_write_is_not_taken(raw: Path) -> None:
    (place,) = Path(os.environ["TMPDIR"]).iterdir()
    place.chmod(0o777)
    assert nodes.collect(raw).streams == 0
    assert len(list(place.iterdir())) == 2


def test_without_room_nothing_is_lost(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TailraceError, match="No space left on device"):
        nodes.collect(raw)
    (place,) = Path(os.environ["TMPDIR"]).iterdir()
    assert len(list(place.glob("*.stream"))) == 2
    assert not [path for path in raw.iterdir() if path.suffix not in (".at", "")]


def test_where_there_is_no_run(tmp_path: Path) -> None:
    done = subprocess.run([*COLLECT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert "holds no run on several nodes" in done.stderr
    assert "hint: " in done.stderr


@pytest.mark.parametrize("directory,only", [("/dev/shm/x", True), ("/proc/x", False)])
def test_what_only_this_node_sees(directory: str, only: bool) -> None:
    assert nodes.only_here(Path(directory)) is only
