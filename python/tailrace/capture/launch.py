"""Reads a command line such as `mpiexec -n 4 ./model input.nml`: what starts ranks, and which
program they run."""

import os
import shutil
import subprocess
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tailrace.capture.elf import is_elf, is_of_32_bits, is_of_other_processor
from tailrace.names import shown_path

# fmt: off
LAUNCHERS = frozenset({
    "mpiexec", "mpirun", "orterun", "prterun", "prun", "srun", "aprun", "jsrun", "ibrun",
    "mpiexec.hydra",
    "mpiexec.gforker", "mpiexec.openmpi", "mpirun.openmpi", "mpiexec.mpich", "mpirun.mpich",
    "mpiexec.slurm",
})
# Those of batch systems, which come with no MPI: that of a compiler beside them is chance.
OF_BATCH_SYSTEMS = frozenset({"srun", "aprun", "jsrun", "ibrun"})
# Programs that only start another one.
WRAPPERS = frozenset({
    "env", "nice", "time", "timeout", "taskset", "numactl", "setsid", "nohup", "stdbuf", "ionice",
    "chrt", "flock", "prlimit", "unshare", "setarch", "setpriv", "hwloc-bind", "likwid-pin",
    "bwrap", "chroot", "firejail", "proot", "fakechroot", "fakeroot", "eatmydata", "faketime",
    "xvfb-run", "tini", "dumb-init", "catatonit", "chronic", "unbuffer",
    "strace", "ltrace",
    "gdb", "valgrind", "heaptrack",
})
# Of these the first word that is no option is a command of their own, as in `perf stat` and
# `testbed enter`.
WITH_COMMANDS = frozenset({"perf", "testbed"})
# They start what their files say, not what the command line says.
STARTERS = frozenset({"make", "gmake", "ninja", "ctest", "cmake", "xargs", "parallel"})
SHELLS = frozenset({
    "sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox",
})  # fmt: skip
# They start it where other files may be, by another environment perhaps.
CONTAINERS = frozenset({
    "chroot", "bwrap", "firejail", "proot", "fakechroot",
    "apptainer", "singularity", "docker", "podman", "podman-hpc", "nerdctl", "udocker",
    "shifter", "sarus", "enroot", "ch-run",
})
# fmt: on
# Options of launchers whose value is a program, or its name, that is not the ranks'.
WITH_PROGRAMS = frozenset(
    f"{dashes}{name}{part}"
    for dashes in ("-", "--")
    for name in ("launcher", "bootstrap")
    for part in ("", "-exec")
)
# Options of launchers behind whose number the program stands where no other option follows; those
# with two values; those without one; and those that say where the program is started.
NUMBERS_OF_RANKS = frozenset({"-n", "-np", "--n", "--np"})
WITH_TWO_VALUES = frozenset({"-genv", "-env", "-mca", "--mca", "--gmca", "--prtemca", "--pmixmca"})
WITHOUT_VALUE = frozenset({"--oversubscribe", "--allow-run-as-root", "--tag-output", "-l", "-v"})
DIRECTORIES = frozenset({"-wdir", "--wdir", "-wd", "-D", "--chdir"})
MULTIPLE_NODE_OPTIONS = (
    "-H",
    "-host",
    "--host",
    "-hosts",
    "-hostfile",
    "--hostfile",
    "-f",
    "-machinefile",
    "--machinefile",
)
HOST_FILE_VARIABLES = (
    "HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
)


class Launch(NamedTuple):
    """`launcher`: the command's mpiexec or the like, None without. `program`: what the ranks run,
    None where not found.

    `name`: what to call the run, from the program's or its script's file name. `absent`: a word
    before the program, in a program's place, which names none. `place`: the program's in the
    command, None where not found.
    """

    launcher: Path | None
    program: Path | None
    name: str
    absent: str = ""
    place: int | None = None

    @property
    def is_plain_program(self) -> bool:
        """Neither a script nor an interpreter: what it is linked with is what it uses."""
        return (
            self.program is not None
            and is_elf(self.program)
            and not _is_interpreter(self.program)
            and self.program.name not in STARTERS
        )

    @property
    def runs_others(self) -> bool:
        """What is recorded is not the command itself, which may go on behind it."""
        return self.program is None or self.is_script or self.program.name in STARTERS

    @property
    def is_script(self) -> bool:
        """A shell runs it: what is recorded are the programs that it starts."""
        if self.program is None:
            return False
        shell = self.program if is_elf(self.program) else _interpreter(self.program)
        return shell is not None and shell.name in SHELLS


def executable(word: str) -> Path | None:
    """The file that a word of the command line would run, None where it names none."""
    found = shutil.which(word)
    return Path(found) if found and Path(found).is_file() else None


def read_command(command: list[str]) -> Launch:
    """Words are looked up as the shell would; options and their values are passed over as they name
    no executable."""
    launcher, skips, absent = None, 0, ""
    for place, word in enumerate(command):
        if word.startswith("-"):
            skips = 2 if launcher and word in WITH_TWO_VALUES else int(word in WITH_PROGRAMS)
            continue
        if skips:
            skips -= 1
            continue
        if (path := executable(word)) is None:
            absent = absent or (word if launcher and _is_in_place(command, place) else "")
            continue
        path = _behind_shim(path)
        if path.name in LAUNCHERS:
            launcher = launcher or path
        elif path.name in WITH_COMMANDS:
            skips = 1
        elif path.name not in WRAPPERS and (place == 0 or not word.isdigit()):
            if launcher is None and _starts_launcher(path, command[place + 1 :]):
                continue
            return Launch(launcher, path, _name(path, command[place + 1 :]), absent, place)
    return Launch(launcher, None, _stem(Path(command[0])), absent)


def _is_in_place(command: list[str], place: int) -> bool:
    """Whether a program is to be expected there: behind the number of ranks, or where the word is a
    path and no option's value. Where the launcher changes directories, nobody knows."""
    *_, second, first = ["", "", *command[:place]]
    if not DIRECTORIES.isdisjoint(command[:place]):
        return False
    if first.isdigit() and second in NUMBERS_OF_RANKS:
        return True
    is_option = first.startswith("-") and first not in WITHOUT_VALUE
    of_option = is_option or second in WITH_TWO_VALUES
    return "/" in command[place] and "=" not in command[place] and not of_option


def why_not_executable(word: str) -> tuple[str, str]:
    """What is wrong with a word that names no program, and what to look at."""
    name = shown_path(word)
    if "/" not in word:
        return f"{name}: command not found", f"is it on the PATH, or is it ./{name}?"
    if not os.path.exists(word):  # noqa: PTH110 - as Path.exists, but a long name is no error
        return f"{name} does not exist", "check the path of the program"
    if Path(word).is_dir():
        return f"{name} is a directory", "name a program in it"
    return f"{name} is not executable", "`chmod +x` makes a program executable"


def _starts_launcher(path: Path, words: list[str]) -> bool:
    """A wrapper that is not known by its name, before mpiexec and what that runs."""
    if _is_interpreter(path) or path.name in STARTERS:
        return False
    shell = None if is_elf(path) else _interpreter(path)
    if not is_elf(path) and (shell is None or shell.name not in SHELLS):
        return False
    return any(Path(word).name in LAUNCHERS and executable(word) is not None for word in words)


def _behind_shim(path: Path) -> Path:
    """pyenv, rbenv and the like put scripts on the PATH that start the version in use."""
    manager = path.parent.parent / "bin" / path.parent.parent.name.removeprefix(".")
    if path.parent.name != "shims" or not os.access(manager, os.X_OK):
        return path
    done = subprocess.run([manager, "which", path.name], capture_output=True, text=True)
    found = Path(done.stdout.strip())
    return found if done.returncode == 0 and found.is_file() else path


def _name(program: Path, arguments: list[str]) -> str:
    """An interpreter's run is called after its script."""
    # not Path.is_file: arguments are longer than any name, or lie where nobody may look
    scripts = [
        Path(word)
        for word in arguments
        if not word.startswith("-") and os.path.isfile(word)  # noqa: PTH113
    ]
    return _stem(scripts[0] if _is_interpreter(program) and scripts else program)


def recorded_name(meta: dict[str, str]) -> str | None:
    """What to call a run by what its trace says of its program."""
    words = meta.get("command", "").split("\x1f")
    return _name(Path(meta["exe"]), words[1:]) if "exe" in meta else None


def _is_interpreter(program: Path) -> bool:
    return program.name in SHELLS or program.name.startswith(("python", "perl", "julia", "ruby"))


def _stem(path: Path) -> str:
    """A file name without its ending, of characters that need no quoting."""
    text = "".join(c if c.isalnum() or c in "-_." else "-" for c in path.stem)[:60].strip("-.")
    return text or "program"


def recorded_program(launch: Launch) -> Path | None:
    """The executable whose processes are recorded though they are not MPI ranks: of a run without
    launcher.

    A script's is its interpreter, unless that is a shell, which only starts others.
    """
    if launch.launcher is not None or launch.program is None:
        return None
    program = launch.program if is_elf(launch.program) else _interpreter(launch.program)
    if program is None or {program.name, launch.program.name} & (SHELLS | STARTERS):
        return None
    return Path(os.path.realpath(program))


def runs_on_this_kind(word: str) -> bool:
    """Whether what starts first, a script's interpreter, is a program for which capture's library
    is compiled."""
    path = executable(word)
    first = path if path is None or is_elf(path) else _interpreter(path)
    return first is None or not (is_of_32_bits(first) or is_of_other_processor(first))


def _interpreter(script: Path) -> Path | None:
    """What the script's first line names, `/usr/bin/env python3` included."""
    try:
        with script.open("rb") as file:
            line = file.readline(512)
    except OSError:
        return None
    words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return executable(words[0]) if words else None


def spans_nodes(command: list[str]) -> bool:
    """Whether ranks may start on other nodes: hosts are named, or the batch system gave more than
    one."""
    nodes = os.environ.get("SLURM_JOB_NUM_NODES") or os.environ.get("PBS_NUM_NODES") or "1"
    words = words_of_launcher(command)
    named = any(os.environ.get(variable) for variable in HOST_FILE_VARIABLES)
    return nodes != "1" or named or not words.isdisjoint(MULTIPLE_NODE_OPTIONS)


def words_of_launcher(command: list[str]) -> set[str]:
    """From the launcher to what it starts: what stands before is a wrapper's, `strace -f mpiexec`,
    what stands behind the program's, `./model -f input`, or a wrapper's of each rank."""
    words: set[str] = set()
    for apart, part in groupby(command, key=lambda word: word == ":"):
        own = list(part)
        words.update(own if apart else _own_words(own))
    return words


def _own_words(command: list[str]) -> list[str]:
    """Of one launch, or of one program of several, which have a launcher only before the first."""
    before = command[: read_command(command).place]
    launchers = (i for i, word in enumerate(before) if _is_named(word, LAUNCHERS))
    own = before[next(launchers, 0) :]
    wrappers = (i for i, word in enumerate(own) if _is_named(word, WRAPPERS | WITH_COMMANDS))
    return own[: next(wrappers, None)]


def _is_named(word: str, names: frozenset[str]) -> bool:
    return Path(word).name in names and executable(word) is not None
