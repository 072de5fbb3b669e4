"""Every byte: what goes to a bed comes back from it, by the mount that wrote it and by another."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import multiprocessing
import os
import random
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from tests.processes import LONGEST_WAIT_S
from tests.testbed.conftest import Mounted

pytestmark = pytest.mark.slow

RANKS = 4


def pattern(rank: int, length: int) -> bytes:
    """Bytes that tell whose they are and where they belong."""
    return (
        ((np.arange(length, dtype=np.uint64) * 2654435761 + rank * 40503) >> 7)
        .astype(np.uint8)
        .tobytes()
    )


def in_ranks(work: object, *arguments: object) -> None:
    """As several ranks on one node: processes at the same time."""
    context = multiprocessing.get_context("fork")
    ranks = [context.Process(target=work, args=(rank, *arguments)) for rank in range(RANKS)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(LONGEST_WAIT_S)
    assert [rank.exitcode for rank in ranks] == [0] * RANKS


def write_blocks(rank: int, path: Path, block: int, blocks: int) -> None:
    data = pattern(rank, block * blocks)
    descriptor = os.open(path, os.O_WRONLY)
    for number in range(blocks):
        at = (number * RANKS + rank) * block
        assert os.pwrite(descriptor, data[number * block : (number + 1) * block], at) == block
    os.fsync(descriptor)
    os.close(descriptor)


def interleaved(block: int, blocks: int) -> bytes:
    parts = np.stack(
        [np.frombuffer(pattern(rank, block * blocks), np.uint8) for rank in range(RANKS)]
    )
    return parts.reshape(RANKS, blocks, block).swapaxes(0, 1).tobytes()


@pytest.mark.sampled
@pytest.mark.parametrize(
    "block,blocks", [(1000, 500), (4096, 500), (65536, 40), (1 << 20, 6), (1_500_001, 4)]
)
def test_interleaved_blocks_of_several_ranks(mounted: Mounted, block: int, blocks: int) -> None:
    (mounted.here / "shared").touch()
    in_ranks(write_blocks, mounted.here / "shared", block, blocks)
    expected = interleaved(block, blocks)
    assert (mounted.here / "shared").read_bytes() == expected
    assert (mounted.there / "shared").read_bytes() == expected


@pytest.mark.sampled
@pytest.mark.parametrize("reopen", [False, True])
def test_readers_and_writers_of_one_file_at_once(mounted: Mounted, reopen: bool) -> None:
    """Each rank rewrites and reads its own part while the others do: the part is always what the
    rank last wrote."""
    # GlusterFS's client drops a file's pages at each open, also those that another rank is writing
    # to: there no page, and nothing that is read ahead, is shared by two ranks.
    stride = 100_000 if mounted.name == "nfs" else 1 << 20
    for _ in range(10 if mounted.name == "nfs" else 2):
        (mounted.here / "file").write_bytes(bytes(4 * stride))
        in_ranks(rewrite_own_part, mounted.here / "file", reopen, stride)


def rewrite_own_part(rank: int, path: Path, reopen: bool, stride: int) -> None:
    descriptor = os.open(path, os.O_RDWR)
    for turn in range(100):
        data = pattern(rank + turn, 100_000 - turn)
        os.pwrite(descriptor, data, rank * stride)
        assert os.pread(descriptor, len(data), rank * stride) == data
        if turn % 20 == 0:
            os.fsync(descriptor)
        if reopen and turn % 7 == rank:
            os.close(descriptor)
            descriptor = os.open(path, os.O_RDWR)
    os.close(descriptor)


def append_lines(rank: int, path: Path) -> None:
    with path.with_name(f"rank{rank}").open("w", buffering=1) as lines:
        for number in range(2000):
            lines.write(f"rank {rank} line {number}\n")


def test_many_small_writes(mounted: Mounted) -> None:
    """One write(2) a line, as Fortran programs write their listings: the client gathers them."""
    in_ranks(append_lines, mounted.here / "rank")
    for rank in range(RANKS):
        expected = "".join(f"rank {rank} line {number}\n" for number in range(2000))
        assert (mounted.there / f"rank{rank}").read_text() == expected


def test_reads_after_writes_from_the_other_mount(mounted: Mounted) -> None:
    """Close-to-open: whoever opens after a close sees what was written, longer, shorter or changed
    in place."""
    here, there = mounted.here / "file", mounted.there / "file"
    for turn, length in enumerate([10, 100_000, 3_000_000, 500, 500, 2_000_000]):
        writer, reader = (here, there) if turn % 2 == 0 else (there, here)
        data = pattern(turn, length)
        writer.write_bytes(data)
        assert reader.read_bytes() == data
        assert reader.stat().st_size == length


def test_a_change_in_place_is_seen(mounted: Mounted) -> None:
    (mounted.here / "file").write_bytes(bytes(300_000))
    assert (mounted.there / "file").read_bytes() == bytes(300_000)
    for turn in range(5):
        with (mounted.here / "file").open("r+b") as file:
            file.seek(100_000)
            file.write(bytes([turn + 1]) * 5000)
        expected = bytes(100_000) + bytes([turn + 1]) * 5000 + bytes(195_000)
        assert (mounted.there / "file").read_bytes() == expected


def test_what_was_just_written_is_read(mounted: Mounted) -> None:
    """Within one open file: a read has to wait for the writes that the client holds back."""
    with (mounted.here / "file").open("w+b", buffering=0) as file:
        for turn in range(200):
            file.seek(turn * 777)
            file.write(pattern(turn, 777))
            file.seek(turn * 777 // 2)
            assert len(file.read(100)) == min(100, (turn + 1) * 777 - turn * 777 // 2)
            assert os.fstat(file.fileno()).st_size == (turn + 1) * 777
        file.seek(0)
        assert file.read() == b"".join(pattern(turn, 777) for turn in range(200))


def test_a_large_file(mounted: Mounted) -> None:
    """More than four gigabytes, mostly a hole: positions beyond 32 bits."""
    far = 5 * 1024**3 + 12345
    with (mounted.here / "large").open("wb") as file:
        file.write(b"begin")
        file.seek(far)
        file.write(pattern(1, 70_000))
    with (mounted.there / "large").open("rb") as file:
        assert os.fstat(file.fileno()).st_size == far + 70_000
        assert file.read(5) == b"begin"
        file.seek(far - 4096)
        assert file.read() == bytes(4096) + pattern(1, 70_000)


def test_a_file_larger_than_what_is_held_back(mounted: Mounted) -> None:
    data = np.random.default_rng(4).bytes(48_000_000)
    (mounted.here / "file").write_bytes(data)
    assert (
        hashlib.sha256((mounted.there / "file").read_bytes()).digest()
        == hashlib.sha256(data).digest()
    )


def test_truncation(mounted: Mounted) -> None:
    here, there = mounted.here / "file", mounted.there / "file"
    here.write_bytes(pattern(3, 100_000))
    os.truncate(here, 33_333)
    assert there.read_bytes() == pattern(3, 100_000)[:33_333]
    os.truncate(there, 50_000)
    assert there.read_bytes() == pattern(3, 100_000)[:33_333] + bytes(16_667)
    with here.open("r+b", buffering=0) as file:
        file.write(b"x" * 1000)
        file.truncate(10)
        file.seek(20)
        file.write(b"y")
    assert there.read_bytes() == b"x" * 10 + bytes(10) + b"y"
    with here.open("wb"):
        pass
    assert there.read_bytes() == b""


def test_rename(mounted: Mounted) -> None:
    here = mounted.here
    (here / "a").write_bytes(b"first")
    (here / "b").write_bytes(b"second")
    (here / "a").rename(here / "b")
    assert not (mounted.there / "a").exists()
    assert (mounted.there / "b").read_bytes() == b"first"
    (here / "sub").mkdir()
    (here / "b").rename(here / "sub" / "c")
    (here / "sub").rename(here / "moved")
    assert (here / "moved" / "c").read_bytes() == b"first"
    assert sorted(path.name for path in mounted.there.iterdir()) == ["moved"]
    with pytest.raises(FileNotFoundError):
        (here / "none").rename(here / "some")


def test_a_rename_over_an_open_file(mounted: Mounted) -> None:
    """Its readers keep the old contents, as when a restart file is replaced while a plot reads
    it."""
    (mounted.here / "file").write_bytes(b"old" * 1000)
    (mounted.here / "new").write_bytes(b"new" * 1000)
    with (mounted.here / "file").open("rb", buffering=0) as reader:
        (mounted.here / "new").rename(mounted.here / "file")
        assert reader.read() == b"old" * 1000
    assert (mounted.here / "file").read_bytes() == b"new" * 1000
    assert sorted(path.name for path in mounted.here.iterdir()) == ["file"]


def test_unlink_while_open(mounted: Mounted) -> None:
    path = mounted.here / "scratch"
    with path.open("w+b", buffering=0) as file:
        file.write(b"before")
        path.unlink()
        assert not path.exists()
        file.write(b" and after")
        file.seek(0)
        assert file.read() == b"before and after"
        path.write_bytes(b"another of that name")
    assert path.read_bytes() == b"another of that name"
    assert sorted(found.name for found in mounted.there.iterdir()) == ["scratch"]


def test_directories(mounted: Mounted) -> None:
    names = sorted(
        f"file {number:04d} with a long name so that one answer does not hold all"
        for number in range(300)
    )
    for name in names:
        (mounted.here / name).touch()
    assert sorted(path.name for path in mounted.there.iterdir()) == names
    (mounted.here / "deep" / "deeper" / "deepest").mkdir(parents=True)
    (mounted.here / "deep" / "deeper" / "deepest" / "file").write_text("found")
    assert (mounted.there / "deep" / "deeper" / "deepest" / "file").read_text() == "found"
    with pytest.raises(OSError) as refused:
        (mounted.here / "deep").rmdir()
    assert refused.value.errno == errno.ENOTEMPTY
    subprocess.run(["rm", "-r", *mounted.here.iterdir()], check=True)
    assert list(mounted.there.iterdir()) == []


def test_links_and_modes(mounted: Mounted) -> None:
    file = mounted.here / "file"
    file.write_text("one")
    (mounted.here / "hard").hardlink_to(file)
    (mounted.here / "soft").symlink_to("hard")
    assert (mounted.there / "soft").readlink() == Path("hard")
    assert (mounted.there / "soft").read_text() == "one"
    assert file.stat().st_nlink == 2
    file.unlink()
    assert (mounted.here / "hard").read_text() == "one"
    (mounted.here / "hard").chmod(0o640)
    os.utime(mounted.here / "hard", ns=(10**18, 11 * 10**17))
    time.sleep(1.1)  # the other mount may keep attributes for a second
    about = (mounted.there / "hard").stat()
    assert (about.st_mode & 0o7777, about.st_atime_ns, about.st_mtime_ns) == (
        0o640,
        10**18,
        11 * 10**17,
    )


def test_files_belong_to_who_made_them(mounted: Mounted) -> None:
    mounted.here.chmod(0o777)
    command = ["setpriv", "--reuid", "12345", "--regid", "23456", "--clear-groups", "touch", "file"]
    subprocess.run(command, check=True, cwd=mounted.here)
    about = (mounted.there / "file").stat()
    assert (about.st_uid, about.st_gid) == (12345, 23456)


def hold_lock(rank: int, path: Path) -> None:
    """A counter under a lock: what data sieving does to a file, in small."""
    for _ in range(25):
        with path.open("r+b", buffering=0) as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            number = int(file.read() or b"0")
            file.seek(0)
            file.write(str(number + 1).encode())


def test_locks_hold_between_ranks_of_one_mount(mounted: Mounted) -> None:
    (mounted.here / "counter").write_bytes(b"0")
    in_ranks(hold_lock, mounted.here / "counter")
    assert (mounted.there / "counter").read_bytes() == b"100"


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
def test_random_operations_against_a_model(mounted: Mounted, seed: int) -> None:
    """Reads, writes, truncations and reopenings in random order, against the same done to a
    bytearray."""
    choice, model = random.Random(seed), bytearray()
    path = mounted.here / "file"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    for step in range(400):
        at, length = choice.randrange(400_000), choice.choice([1, 53, 1000, 4096, 70_000, 200_000])
        action = choice.choice(
            ["write", "write", "append", "read", "truncate", "stat", "sync", "reopen"]
        )
        if action in ("write", "append"):
            at = len(model) if action == "append" else at
            data = pattern(step, length)
            assert os.pwrite(descriptor, data, at) == length
            model.extend(bytes(max(0, at + length - len(model))))
            model[at : at + length] = data
        elif action == "read":
            assert os.pread(descriptor, length, at) == bytes(model[at : at + length]), step
        elif action == "truncate" and step % 3 == 0:
            os.ftruncate(descriptor, at)
            model = model[:at] + bytes(max(0, at - len(model)))
        elif action == "stat":
            assert os.fstat(descriptor).st_size == len(model), step
        elif action == "sync":
            os.fsync(descriptor)
        elif action == "reopen":
            os.close(descriptor)
            assert (mounted.there / "file").read_bytes() == bytes(model), step
            descriptor = os.open(path, os.O_RDWR)
    os.close(descriptor)
    assert path.read_bytes() == bytes(model)
    assert (mounted.there / "file").read_bytes() == bytes(model)
