"""The first process of a cell: makes its namespaces, says who it is, then only reaps. When it ends,
the kernel ends everything in the cell with it, where it has a namespace of processes. Where it has
none, the holder itself ends whatever descends from it, before it ends for any reason but SIGKILL;
SIGTERM asks it to.

    python -m bed.holder RECORD LOCK-FD SETTINGS

SETTINGS is JSON: `processes`, `net` and `mount` (whether to have such a namespace), `binds` (pairs
of a directory and where it is to be seen), `memory` (a directory, and the size in bytes of the file
system in memory that is to be mounted on it), `commands` (to run one after the other; the daemons
that they leave are ours), `node` (a hostname; such a cell is a node of the cluster) and
`clock_offset_s` (how far its CLOCK_MONOTONIC is ahead).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from bed import system


def main(record: str, lock: int, settings: dict) -> None:
    kinds = {
        "processes": system.CLONE_NEWPID,
        "net": system.CLONE_NEWNET,
        "mount": system.CLONE_NEWNS,
    }
    flags = sum(flag for kind, flag in kinds.items() if settings[kind])
    if settings["node"]:
        flags += system.CLONE_NEWUTS + system.CLONE_NEWIPC + system.CLONE_NEWTIME
    system.unshare(flags)
    if settings["node"]:
        become_node(settings["node"], settings["clock_offset_s"])
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
    system.adopt_orphans()
    signal.signal(signal.SIGTERM, stop)
    try:
        sign(Path(record))
        os.close(lock)
        hold(settings)
    finally:
        if not settings["processes"]:
            end_descendants()


def become_node(name: str, clock_offset_s: int) -> None:
    """CLOCK_BOOTTIME, by which processes are told apart, stays everybody's."""
    socket.sethostname(name)
    Path("/proc/self/timens_offsets").write_text(f"monotonic {clock_offset_s} 0\n")


def stop(number: int, frame: object) -> None:
    """Once: what follows is the end already."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(0)


def hold(settings: dict) -> None:
    prepare(settings)
    for command in settings["commands"]:
        system.run(command)
    print("ready", flush=True)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    reap()


def sign(record: Path) -> None:
    """Before anything else: whoever takes the lock after us must find us. /proc is still that of
    outside."""
    pid = Path("/proc/self").readlink()
    new = record.with_suffix(".new")
    new.write_text(f"{pid} {system.start_ticks('self')} {system.boot_id()}\n")
    new.rename(record)


def prepare(settings: dict) -> None:
    if settings["mount"]:
        system.mount("none", "/", None, system.MS_REC | system.MS_SLAVE)
        let_go_of_network_file_systems()
        system.mount("proc", "/proc", "proc")
    if settings["memory"]:
        directory, size_bytes = settings["memory"]
        system.mount("tmpfs", directory, "tmpfs", 0, f"size={size_bytes}")
    for source, target in settings["binds"]:
        if Path(target).is_dir():
            system.mount(source, target, None, system.MS_BIND)
    if settings["net"]:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def let_go_of_network_file_systems() -> None:
    """A new mount namespace is a copy: mounts of other beds would stay alive in it after they are
    unmounted outside."""
    for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        _, target, kind, *_ = line.split()
        if kind.startswith(("fuse.", "nfs")):
            system.unmount(target.encode().decode("unicode_escape"), detach=True)


def reap() -> None:
    """Until SIGTERM."""
    awaited = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass
        if signal.sigwait(awaited) == signal.SIGTERM:
            return


def end_descendants() -> None:
    """Until the kernel says that we have no children, which are then all descendants, since we
    adopt those that lose their parent. A look through /proc alone would miss a daemon whose parent
    ended at that moment."""
    while True:
        for number, ticks in system.descendants(os.getpid()):
            system.send(signal.SIGKILL, number, ticks)
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
