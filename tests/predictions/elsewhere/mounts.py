"""File systems of many kinds on this machine, as root: those whose programs are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

IMAGE_BYTES = 1 << 30
THROTTLE = Path("/sys/fs/cgroup/blkio")
THROTTLED_BYTES_PER_S = 40_000_000
LINK_RATE = "200mbit"
SFTP_SERVER = "/usr/lib/openssh/sftp-server"
STARTS_WITHIN_S = 10.0


def run(*words: str | Path) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{words[0]} failed: {done.stderr.strip()}")
    return done.stdout.strip()


class Bed:
    """Where one file system comes up, and what lies behind it, in memory, so that no disk that
    others use is in it; what was done is undone in the other order."""

    def __init__(self, name: str, folder: Path, undone: ExitStack) -> None:
        self.name, self.undone = name, undone
        self.mount, self.behind = folder / name / "mount", folder / "memory" / name
        self.mount.mkdir(parents=True)
        self.behind.mkdir()

    def mounted(self, *command: str | Path) -> None:
        run(*command)
        deadline = time.monotonic() + STARTS_WITHIN_S
        while not self.mount.is_mount() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.undone.callback(run, "umount", "--lazy", self.mount)

    def started(self, *command: str | Path) -> None:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.undone.callback(process.wait)
        self.undone.callback(process.terminate)
        time.sleep(1.0)


def _tmpfs(bed: Bed) -> None:
    bed.mounted("mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", bed.mount)


def _on_a_loop_device(kind: str, *options: str) -> Callable[[Bed], None]:
    def bring_up(bed: Bed) -> None:
        image = bed.behind / "image"
        with image.open("wb") as file:
            file.truncate(IMAGE_BYTES)
        run(f"mkfs.{kind}", *options, image)
        bed.mounted("mount", "-o", "loop", image, bed.mount)

    return bring_up


def _throttled(bed: Bed) -> None:
    """By the blkio controller: nothing else is on that device."""
    _on_a_loop_device("ext4", "-q", "-F")(bed)
    device = run("stat", "--format=%Hd:%Ld", bed.mount)

    def rate(bytes_per_s: int) -> None:
        for way in ("read", "write"):
            limit = THROTTLE / f"blkio.throttle.{way}_bps_device"
            limit.write_text(f"{device} {bytes_per_s}")

    rate(THROTTLED_BYTES_PER_S)
    bed.undone.callback(rate, 0)


def _overlay(bed: Bed) -> None:
    for name in ("lower", "upper", "work"):
        (bed.behind / name).mkdir()
    layers = ",".join(
        f"{name}dir={bed.behind / name.removesuffix('dir')}" for name in ("lower", "upper", "work")
    )
    bed.mounted("mount", "-t", "overlay", "-o", layers, "overlay", bed.mount)


def _gocryptfs(bed: Bed) -> None:
    word = bed.behind.with_name("gocryptfs-word")
    word.write_text("word")
    run("gocryptfs", "-q", "-init", "-scryptn", "10", "-passfile", word, bed.behind)
    bed.mounted("gocryptfs", "-q", "-passfile", word, bed.behind, bed.mount)


def _linked(bed: Bed) -> tuple[str, ...]:
    """A namespace behind a link of a known rate, to run servers in: what a command begins with."""
    name, number = f"elsewhere-{bed.name}"[:15], len(bed.name)
    here, there = f"el{number}a", f"el{number}b"
    run("ip", "netns", "add", name)
    bed.undone.callback(run, "ip", "netns", "delete", name)
    inside = ("ip", "netns", "exec", name)
    run("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", name)
    run("ip", "address", "add", f"10.79.{number}.1/24", "dev", here)
    run("ip", "link", "set", here, "up")
    run(*inside, "ip", "address", "add", f"10.79.{number}.2/24", "dev", there)
    run(*inside, "ip", "link", "set", there, "up")
    shape = ("root", "tbf", "rate", LINK_RATE, "burst", "64kb", "latency", "50ms")
    run("tc", "qdisc", "add", "dev", here, *shape)
    run(*inside, "tc", "qdisc", "add", "dev", there, *shape)
    return inside


def _sshfs(bed: Bed) -> None:
    """SFTP as it is, without SSH around it: nothing is encrypted."""
    number = len(bed.name)
    listen = "TCP-LISTEN:2222,fork,reuseaddr,nodelay"
    bed.started(*_linked(bed), "socat", listen, f"EXEC:{SFTP_SERVER}")
    server = f"10.79.{number}.2:{bed.behind}"
    bed.mounted("sshfs", "-o", "directport=2222", server, bed.mount)


def _rclone(bed: Bed) -> None:
    """WebDAV over the loopback; what is written lies in rclone's own cache until it is closed."""
    address = "127.0.0.1:18080"
    bed.started("rclone", "serve", "webdav", bed.behind, "--addr", address)
    cache = bed.behind.with_name("rclone-cache")
    bed.mounted(
        *("rclone", "mount", "--daemon", "--vfs-cache-mode", "writes", "--cache-dir", cache),
        *("--webdav-url", f"http://{address}", "--webdav-vendor", "other", ":webdav:", bed.mount),
    )


# By name: the programs that it needs, and how it comes up.
KINDS: dict[str, tuple[tuple[str, ...], Callable[[Bed], None]]] = {
    "tmpfs": ((), _tmpfs),
    "ext4": (("mkfs.ext4",), _on_a_loop_device("ext4", "-q", "-F")),
    "throttled": (("mkfs.ext4",), _throttled),
    "xfs": (("mkfs.xfs",), _on_a_loop_device("xfs", "-q")),
    "btrfs": (("mkfs.btrfs",), _on_a_loop_device("btrfs", "-q")),
    "overlayfs": ((), _overlay),
    "gocryptfs": (("gocryptfs",), _gocryptfs),
    "sshfs": (("sshfs", "socat", SFTP_SERVER), _sshfs),
    "rclone": (("rclone",), _rclone),
}


@contextmanager
def up(names: list[str], folder: Path) -> Iterator[dict[str, Path]]:
    """Where each lies; those that cannot be had are named on stderr. Nothing is left behind."""
    memory = folder / "memory"
    memory.mkdir(parents=True)
    with ExitStack() as undone:
        run("mount", "-t", "tmpfs", "tmpfs", memory)
        undone.callback(run, "umount", "--lazy", memory)
        found = {}
        for name in names:
            needs, bring_up = KINDS[name]
            if missing := [word for word in needs if shutil.which(word) is None]:
                print(f"{name} is left out: there is no {missing[0]}", file=sys.stderr)
                continue
            bed = Bed(name, folder, undone)
            bring_up(bed)
            found[name] = bed.mount
        yield found
