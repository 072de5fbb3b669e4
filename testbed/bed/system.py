"""System calls that Python's library lacks, and running programs without leaving pipes in daemons'
hands."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import tempfile
from pathlib import Path

from bed.errors import TestbedError

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWTIME = 0x04000000, 0x08000000, 0x00000080
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
MNT_DETACH = 2
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def adopt_orphans() -> None:
    """Whoever descends from this process and loses its parent becomes its child."""
    _checked(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(flags), "unshare")


def mount(
    source: str, target: str, kind: str | None = None, flags: int = 0, data: str | None = None
) -> None:
    encoded = [text.encode() if text is not None else None for text in (source, target, kind, data)]
    flags_argument = ctypes.c_ulong(flags)
    _checked(
        _libc.mount(encoded[0], encoded[1], encoded[2], flags_argument, encoded[3]),
        f"mount on {target}",
    )


def unmount(target: str, detach: bool = False) -> None:
    """Without looking at what is mounted there, which hangs where its server does not answer."""
    _checked(_libc.umount2(target.encode(), MNT_DETACH if detach else 0), f"unmount of {target}")


def run(
    command: list[str],
    timeout_s: float = 60,
    environment: dict[str, str] | None = None,
    given: str = "",
) -> str:
    """What the program printed; it may leave daemons behind, which must not hold our end of a pipe.
    `given`: what it is to read.

    Raises TestbedError with the program's own words where it fails or does not end in time.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        status = _status(command, given, output, timeout_s, environment or {})
        output.seek(0)
        text = output.read()
    if status is None:
        raise TestbedError(f"{' '.join(command)} did not end within {timeout_s:g} s")
    if status != 0:
        raise TestbedError(f"{' '.join(command)} failed with status {status}: {_last_words(text)}")
    return text


def _status(
    command: list[str],
    given: str,
    output: object,
    timeout_s: float,
    environment: dict[str, str],
) -> int | None:
    """None where it did not end in time."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return subprocess.run(
            command,
            **({"input": given.encode()} if given else {"stdin": subprocess.DEVNULL}),
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            timeout=timeout_s,
        ).returncode
    return None


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[-3:]) or "it printed nothing"


def boot_id() -> str:
    """Which start of the machine this is: process numbers mean nothing beyond it."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _fields(pid: int | str) -> list[str]:
    """Of its state in /proc, from the third on; none where there is no such process, or it is only
    remembered."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return [] if fields[0] in ("Z", "X") else fields


def start_ticks(pid: int | str) -> str | None:
    """When the process started, in ticks since the machine did: with its number, what tells it from
    all others.

    None of one that has ended, also where nobody has asked for its status yet.
    """
    fields = _fields(pid)
    return fields[19] if fields else None


def send(number: signal.Signals, pid: int, ticks: str, wait_s: float = 0) -> bool:
    """Sends the signal to the process, and says whether it has ended within `wait_s`. By a
    descriptor: its number could become another's between look and kill."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        if start_ticks(pid) == ticks:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, number)
        return bool(select.select([descriptor], [], [], wait_s)[0])
    finally:
        os.close(descriptor)


def descendants(pid: int) -> list[tuple[int, str]]:
    """Number and start of every living process that descends from `pid`."""
    children: dict[int, list[tuple[int, str]]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        if fields := _fields(process.name):
            children.setdefault(int(fields[1]), []).append((int(process.name), fields[19]))
    found = list(children.get(pid, []))
    for number, _ in found:  # grows while it is walked
        found.extend(children.get(number, []))
    return found


def names_below(pid: int) -> set[str]:
    """Of the programs that descend from `pid`."""
    names = set()
    for number, _ in descendants(pid):
        with contextlib.suppress(OSError):
            names.add(Path(f"/proc/{number}/comm").read_text().strip())
    return names


def marked(variable: str, value: str) -> list[tuple[int, str]]:
    """Every living process that was started with this in its environment, and what descends from
    such."""
    mark = f"{variable}={value}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                ticks = start_ticks(process.name)
                found += [(int(process.name), ticks)] if ticks else []
    return [*found, *(below for number, _ in found for below in descendants(number))]
