"""The mount table: what is mounted below a directory, whether it answers, who uses it, and
unmounting."""

from __future__ import annotations

import contextlib
import errno
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bed import system
from bed.errors import TestbedError


def mounted_below(directory: Path, table: str | None = None) -> list[Path]:
    """The deepest first. A path's own mounts count, as often as it is mounted on. `table`: a node's
    mountinfo; ours without it."""
    found = []
    for line in (table or Path("/proc/self/mountinfo").read_text()).splitlines():
        target = Path(_without_escapes(line.split()[4]))
        if target == directory or directory in target.parents:
            found.append(target)
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def _without_escapes(name: str) -> str:
    """The table writes a space as \\040."""
    return name.encode().decode("unicode_escape").encode("latin-1").decode(errors="surrogateescape")


def answers(directory: Path, timeout_s: float = 10) -> bool:
    """In a process of its own: asking a file system whose server is gone can hang."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        command = ["stat", "--file-system", str(directory)]
        return subprocess.run(command, capture_output=True, timeout=timeout_s).returncode == 0
    return False


def wait_until_it_answers(
    directory: Path, check: Callable[[], None], timeout_s: float = 30
) -> None:
    """`check` raises TestbedError when it cannot answer any more."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if mounted_below(directory) and answers(directory):
            return
        check()
        time.sleep(0.05)
    raise TestbedError(f"what was mounted on {directory} does not answer")


def unmount_below(directory: Path, force: bool) -> None:
    for target in mounted_below(directory):
        _unmount(target, force)


def _unmount(target: Path, force: bool) -> None:
    try:
        system.unmount(str(target), detach=force)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise TestbedError(f"{error.strerror}") from None
        raise TestbedError(
            f"{target} is in use{_by_whom(target)}",
            "end what uses it, or give --force, which takes it away from them",
        ) from None


def _by_whom(target: Path) -> str:
    users = [f"{pid} ({name})" for pid, name in users_of(target)]
    return f" by process {', '.join(users[:5])}" if users else ""


def users_of(target: Path) -> list[tuple[int, str]]:
    """Processes that have something open, or stand, below the mount: number and name."""
    users = []
    for process in Path("/proc").glob("[0-9]*"):
        links = [process / "cwd", process / "root", *_descriptors(process)]
        if any(_leads_below(link, target) for link in links):
            users.append((int(process.name), _name(process)))
    return users


def _descriptors(process: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return list((process / "fd").iterdir())
    return []


def _leads_below(link: Path, target: Path) -> bool:
    with contextlib.suppress(OSError):
        goal = link.readlink()
        return goal == target or target in goal.parents
    return False


def _name(process: Path) -> str:
    with contextlib.suppress(OSError):
        return (process / "comm").read_text().strip()
    return "?"
