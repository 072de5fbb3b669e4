"""Why nothing was recorded, and what to do about it."""

import os
import shlex
import stat
from itertools import pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

from tailrace import cache
from tailrace.capture.elf import (
    is_elf,
    is_of_32_bits,
    is_of_go,
    is_of_musl,
    is_of_other_processor,
    is_static,
)
from tailrace.capture.environment import CaptureOptions, Place
from tailrace.capture.launch import (
    CONTAINERS,
    SHELLS,
    Launch,
    read_command,
    recorded_program,
    why_not_executable,
)
from tailrace.errors import TailraceError
from tailrace.names import printable, shown_path

# With less than this a file system counts as full: a process needs a window of its stream.
ROOM_BYTES = 1 << 20
# Options of setpriv that name a user, whose rights the program then has.
SETPRIV_USERS = ("--reuid", "--ruid", "--euid")
# What a shell runs several commands by, or waits for none.
SEVERAL = frozenset(";&|\n")


class Attempt(NamedTuple):
    """A run whose program was started, and the status that it ended with."""

    command: list[str]
    launch: Launch
    options: CaptureOptions
    place: Place
    status: int

    @property
    def name(self) -> str:
        program = self.launch.program
        return printable(program.name if program is not None else self.command[0])


def why_nothing(attempt: Attempt) -> TailraceError:
    """The first reason that holds, the most certain first."""
    reasons = (
        _no_room,
        _own_preload,
        _cleared,
        _in_container,
        _cannot_be_loaded,
        _cannot_be_loaded_by_shell,
        _another_user,
        _absent,
        _failed,
        _no_rank,
        _is_shell,
        _only_starts_others,
    )
    found = next(filter(None, (reason(attempt) for reason in reasons)), None) or (
        f"{attempt.name} made no file call and no MPI call, as far as was seen",
        "`--processes all` also records the programs that it starts; where a line above says that "
        "recording stops, that is the reason",
    )
    return TailraceError(f"nothing was recorded: {found[0]}", found[1])


Reason = tuple[str, str] | None


def _no_room(attempt: Attempt) -> Reason:
    raw = attempt.place.raw
    if not raw.is_dir():
        return (
            f"{printable(str(raw))} was removed while the program ran",
            "name a directory that the program leaves alone with -o",
        )
    system = os.statvfs(raw)
    if system.f_bavail * system.f_frsize < ROOM_BYTES:
        return (
            f"the file system of {printable(str(raw))} is full",
            "name a directory on another one with --raw-dir",
        )
    return None


def _own_preload(attempt: Attempt) -> Reason:
    """Not where a script adds to what the variable holds."""
    own = (word for word in attempt.command if word.startswith("LD_PRELOAD="))
    if not any("$LD_PRELOAD" not in word and "${LD_PRELOAD" not in word for word in own):
        return None
    return (
        "the command sets LD_PRELOAD itself, and capture is loaded by that variable",
        "set it before `tailrace run`, which adds to it: LD_PRELOAD=… tailrace run -- …; or add to "
        "it: sh -c 'LD_PRELOAD=…:$LD_PRELOAD exec ./model'",
    )


def _cleared(attempt: Attempt) -> Reason:
    """`env -i`: capture's variables are gone with all others."""
    words = iter(attempt.command)
    if not any(Path(word).name == "env" for word in words):  # the words after it are left
        return None
    options = takewhile(lambda word: word.startswith("-") or "=" in word, words)
    if not {"-", "-i", "--ignore-environment"} & set(options):
        return None
    return (
        "the command clears the environment, a variable of which loads capture",
        "clear it before `tailrace run`: env -i NAME=VALUE… tailrace run -- …",
    )


def _in_container(attempt: Attempt) -> Reason:
    """What is started there is not looked at: the paths of the command may mean other files."""
    names = [Path(word).name for word in attempt.command]
    container = next((name for name in names if name in CONTAINERS), None)
    if container is None:
        return None
    needed = f"{shown_path(cache.root())} and {shown_path(attempt.place.raw)}"
    return (
        f"{container} starts the program among other files, where capture's library or the "
        "trace's directory may be missing, or without the environment that loads it",
        f"show {needed} at the same paths there and pass LD_PRELOAD and TAILRACE_* on, "
        "or start `tailrace run` inside",
    )


def _cannot_be_loaded(attempt: Attempt) -> Reason:
    program = attempt.launch.program
    if program is None or not is_elf(program):
        return None
    if is_of_go(program):
        return (
            f"{attempt.name} is written in Go, whose programs call the system without the C "
            "library that capture watches",
            "`strace -f -c` counts such a program's calls, and what they take",
        )
    if is_of_32_bits(program):
        return (
            f"{attempt.name} is a 32-bit program, and capture is compiled for 64 bits",
            "compile it for 64 bits, that is, without -m32",
        )
    if is_of_other_processor(program):
        return (
            f"{attempt.name} is compiled for another kind of processor than capture",
            "compile it for the processor of this machine",
        )
    if is_static(program):
        return (
            f"{attempt.name} is linked statically, and capture is loaded by the dynamic linker",
            "link it dynamically, that is, without -static",
        )
    if is_of_musl(program):
        return (
            f"{attempt.name} runs with the C library musl, and capture watches glibc",
            "link it with glibc, or count its calls with `strace -f -c`",
        )
    if _mode(program) & (stat.S_ISUID | stat.S_ISGID):
        return (
            f"{attempt.name} runs with another user's rights, and nothing is loaded into it",
            "run a copy without the setuid bit",
        )
    return None


def _cannot_be_loaded_by_shell(attempt: Attempt) -> Reason:
    """`sh -c 'A=1 restic backup'`: one command that a shell starts."""
    *_, option, text = ("", *attempt.command)
    is_one = option.startswith("-") and option.endswith("c") and SEVERAL.isdisjoint(text)
    if not (attempt.launch.is_script and is_one):
        return None
    try:
        words = shlex.split(text)
    except ValueError:  # a quotation without an end
        return None
    return _cannot_be_loaded(attempt._replace(launch=read_command(words))) if words else None


def _another_user(attempt: Attempt) -> Reason:
    """setpriv may start the program as a user who cannot write where capture records. (sudo, su and
    the like have the setuid bit.)"""
    words = [part for word in attempt.command for part in word.split("=", 1)]
    users = {user for option, user in pairwise(words) if option in SETPRIV_USERS} - {"root", "0"}
    if not users or "setpriv" not in [Path(word).name for word in words]:
        return None
    return (
        "setpriv starts the program as another user, who may not write where Tailrace records",
        "start `tailrace run` as that user: setpriv … tailrace run -- PROGRAM",
    )


def _mode(program: Path) -> int:
    try:
        return program.stat().st_mode
    except OSError:
        return 0


def _absent(attempt: Attempt) -> Reason:
    """The launcher was given no program: what follows, a word that the program would have got, may
    name one by chance."""
    word = attempt.launch.absent
    return why_not_executable(word) if word and attempt.status else None


def _failed(attempt: Attempt) -> Reason:
    if attempt.status == 0 or _starts_others(attempt):
        return None
    how = f"{'signal' if attempt.status < 0 else 'status'} {abs(attempt.status)}"
    # Not "before it made one": capture may have had no room for what it did.
    launched = attempt.launch.launcher is not None
    before = "an MPI rank" if launched else "a file call of it"
    # The status of a launcher may be its ranks', or it started none; a signal is its own.
    name = printable(Path(attempt.command[0]).name) if launched else attempt.name
    if launched and attempt.status > 0 and attempt.launch.program is not None:
        name += f", which was to start {attempt.name},"
    return (
        f"{name} ended with {how} before {before} was recorded",
        "try the command without Tailrace; `tailrace doctor` shows which MPI is found",
    )


def _starts_others(attempt: Attempt) -> bool:
    """Whether the command itself is not to be recorded, but for `--processes all`: a shell, xargs,
    whose status is that of what it started."""
    launched = attempt.launch.launcher is not None
    return (
        not launched
        and attempt.options.processes != "all"
        and recorded_program(attempt.launch) is None
    )


def _no_rank(attempt: Attempt) -> Reason:
    launched = attempt.launch.launcher is not None and attempt.options.processes != "all"
    if not launched:
        return None
    return (
        "no MPI rank was seen",
        "`tailrace run --processes all` records every process; "
        "`tailrace doctor` shows which MPI is found",
    )


def _is_shell(attempt: Attempt) -> Reason:
    """Whether it starts programs is not known: builtins may do all of its work, `echo >>log`."""
    program, launch = attempt.launch.program, attempt.launch
    by_name = program is not None and program.name in SHELLS
    if attempt.options.processes == "all" or not (by_name or launch.is_script):
        return None
    what = "is a shell" if by_name else "is a shell's script"
    return (
        f"{attempt.name} {what}: what it does itself, and what it starts that uses no MPI, is "
        "recorded only with `--processes all`",
        "`tailrace run --processes all` records every process; if they use MPI, `tailrace doctor` "
        "shows which MPI is found",
    )


def _only_starts_others(attempt: Attempt) -> Reason:
    if not _starts_others(attempt):
        return None
    return (
        f"{attempt.name} only starts other programs, which are not recorded unless they use MPI",
        "`tailrace run --processes all` records every process; if they use MPI, `tailrace doctor` "
        "shows which MPI is found",
    )
