"""What a command line means: the launcher, the program, what the run is called, and which processes
are recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.bench.launcher import compiler_of
from tailrace.capture.elf import is_elf, read_dynamic
from tailrace.capture.launch import read_command, recorded_program, spans_nodes, words_of_launcher
from tailrace.capture.mpi import for_command, installed


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with an mpiexec on the PATH, a program (a copy of an ELF executable) and
    scripts."""
    (tmp_path / "bin").mkdir()
    for name in ("bin/mpiexec", "job.sh"):
        (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / "analyse.py").write_text("#!/usr/bin/env -S python3 -u\n")
    (tmp_path / "model.exe").write_bytes(Path(os.path.realpath(sys.executable)).read_bytes())
    (tmp_path / "input.nml").write_text("&grid /")
    for path in (*tmp_path.glob("*.*"), tmp_path / "bin" / "mpiexec"):
        path.chmod(0o644 if path.suffix == ".nml" else 0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "launcher", "program", "name"),
    [
        (["mpiexec", "-n", "4", "./model.exe", "input.nml"], "mpiexec", "model.exe", "model"),
        (
            ["env", "A=1", "mpiexec", "-genv", "B", "2", "-n", "2", "./model.exe"],
            "mpiexec",
            "model.exe",
            "model",
        ),
        # a value that names a command of the machine
        (
            ["mpiexec", "--mca", "osc", "true", "-n", "2", "./model.exe"],
            "mpiexec",
            "model.exe",
            "model",
        ),
        (["./model.exe"], None, "model.exe", "model"),
        (["nice", "-n", "5", "./model.exe"], None, "model.exe", "model"),
        (["faketime", "2001-01-01", "./model.exe"], None, "model.exe", "model"),
        (["./job.sh"], None, "job.sh", "job"),
        (
            ["mpiexec", "-n", "2", sys.executable, "analyse.py"],
            "mpiexec",
            Path(sys.executable).name,
            "analyse",
        ),
        # no file has such a name
        (
            [sys.executable, "-c", "pass # " + "x" * 300, "analyse.py"],
            None,
            Path(sys.executable).name,
            "analyse",
        ),
        (["mpiexec", "-n", "2", "./absent"], "mpiexec", None, "mpiexec"),
    ],
)
def test_commands(here, command, launcher, program, name):
    make_executable(here / "bin" / "true", (here / "model.exe").read_bytes())
    if "faketime" in command:
        make_executable(here / "bin" / "faketime", (here / "model.exe").read_bytes())
    launch = read_command(command)
    assert (launch.launcher.name if launch.launcher else None) == launcher
    assert (launch.program.name if launch.program else None) == program
    assert launch.name == name


def test_under_a_launcher_only_ranks_are_recorded(here):
    command = ["mpiexec", "-n", "4", "./model.exe"]
    assert recorded_program(read_command(command)) is None


def test_a_program_without_mpi_is_recorded_itself(here):
    assert recorded_program(read_command(["./model.exe"])) == here / "model.exe"


def test_a_script_is_recorded_as_its_interpreter_a_shell_is_not(here):
    recorded = recorded_program(read_command(["./analyse.py"]))
    assert recorded is not None and recorded.name.startswith(("python", "pyenv"))
    assert recorded_program(read_command(["./job.sh"])) is None


@pytest.mark.parametrize("name", ["a b;c.x", "-rf", "ü", "..."])
def test_a_run_is_called_by_harmless_characters(here, name):
    (here / name).write_bytes((here / "model.exe").read_bytes())
    (here / name).chmod(0o755)
    called = read_command([str(here / name)]).name
    assert called and all(c.isalnum() or c in "-_." for c in called) and called[0] not in "-."


def test_programs_that_launchers_are_told_of_are_not_the_ranks(here):
    words = ["mpiexec", "-launcher", "sh", "-launcher-exec", "/bin/ls", "-n", "2", "./model.exe"]
    assert read_command(words).program == Path("model.exe")


def test_several_nodes_are_told_by_options_and_batch_system(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)
    assert not spans_nodes(["mpiexec", "-n", "4", "./model"])
    assert spans_nodes(["mpiexec", "--hostfile", "hosts", "./model"])
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    assert spans_nodes(["mpiexec", "-n", "4", "./model"])


def test_options_of_the_program_are_not_the_launchers(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FLASH-IO names its files by -f, and hosts are named before a program, or behind a colon."""
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)
    one = ["mpiexec", "-n", "2", "./model.exe", "-f", "out", "-x", "-H", "3"]
    assert not spans_nodes(one) and words_of_launcher(one) == {"mpiexec", "-n", "2"}
    more = [*one, ":", "-host", "far", "-n", "1", "./model.exe", "-q"]
    assert spans_nodes(more) and words_of_launcher(more) >= {":", "-host"}
    assert "-q" not in words_of_launcher(more)
    assert not spans_nodes([*one, ":", "-n", "1", "./model.exe", "-f", "out"])


@pytest.mark.parametrize(
    "command",
    [
        ["strace", "-f", "-o", "log", "mpiexec", "-n", "2", "./model.exe"],
        ["time", "-f", "%e", "mpiexec", "-n", "2", "./model.exe"],
        ["mpiexec", "-n", "2", "strace", "-f", "./model.exe"],
    ],
)
def test_options_of_wrappers_are_none_of_the_launchers(
    here: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """`-f` names hosts only where it is MPICH's launcher that reads it."""
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)
    for name in ("strace", "time"):
        (here / "bin" / name).write_text("#!/bin/sh\n")
        (here / "bin" / name).chmod(0o755)
    assert not spans_nodes(command)
    place = command.index("mpiexec") + 1
    assert spans_nodes([*command[:place], "-f", "hosts", *command[place:]])


def test_folders_into_which_nobody_can_look_are_passed_over(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/{'x' * 300}")
    assert for_command(read_command(["./model.exe"])) == []


def test_elf_reader(tmp_path):
    program = Path("/bin/ls").resolve()
    assert is_elf(program) and "libc.so.6" in read_dynamic(program).needed
    broken = tmp_path / "broken"
    broken.write_bytes(program.read_bytes()[:200])
    assert read_dynamic(broken).needed == ()
    assert not is_elf(tmp_path / "absent")


def test_a_plain_program_needs_no_mpi_to_be_compiled_for(here):
    assert read_command(["./model.exe"]).is_plain_program
    assert not read_command(["./job.sh"]).is_plain_program
    assert not read_command([sys.executable, "analyse.py"]).is_plain_program
    assert for_command(read_command(["./model.exe"])) == []


def make_executable(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o755)


@pytest.mark.parametrize("options", [[], ["-e", "cycles"], ["-r", "3", "-a"]])
def test_perf_is_looked_through(here, options):
    """Its first word, `stat`, is a command of its own though the PATH has a program of that
    name."""
    make_executable(here / "bin" / "perf", (here / "model.exe").read_bytes())
    launch = read_command(["perf", "stat", *options, "mpiexec", "-n", "2", "./model.exe"])
    assert launch.launcher is not None and launch.launcher.name == "mpiexec"
    assert launch.name == "model"


@pytest.mark.parametrize("name", ["flock", "a-wrapper-of-somebody", "a-script"])
def test_whatever_stands_before_a_launcher_is_looked_through(here, name):
    """Else the MPI of the ranks is not made ready, and their calls are not recorded."""
    script = b'#!/bin/sh\nexec "$@"\n'
    text = script if name == "a-script" else (here / "model.exe").read_bytes()
    make_executable(here / "bin" / name, text)
    words = [name, "--file=lock", "lock", "mpiexec", "-n", "2", "./model.exe"]
    launch = read_command(words)
    assert launch.launcher is not None and launch.launcher.name == "mpiexec"
    assert launch.name == "model"
    assert recorded_program(launch) is None


def test_what_starts_a_launcher_itself_is_no_wrapper(here):
    """A program in Python, or a shell, may do more than to start what it is told to."""
    for words in (["./analyse.py", "mpiexec"], ["sh", "job.sh", "mpiexec"], ["./model.exe", "in"]):
        assert read_command(words).launcher is None


def test_make_may_start_anything(here):
    """So every MPI is made ready, and make itself is not what is recorded."""
    make_executable(here / "bin" / "make", (here / "model.exe").read_bytes())
    launch = read_command(["make", "run"])
    assert not launch.is_plain_program
    assert recorded_program(launch) is None


def test_a_shim_is_looked_through(here, monkeypatch):
    """A script on the PATH that asks its manager which version is in use."""
    real = here / "versions" / "3" / "python3"
    make_executable(real, (here / "model.exe").read_bytes())
    make_executable(here / ".pyenv" / "shims" / "python3", "#!/bin/sh\nexit 1\n")
    make_executable(here / ".pyenv" / "bin" / "pyenv", f"#!/bin/sh\necho {real}\n")
    monkeypatch.setenv("PATH", f"{here / '.pyenv' / 'shims'}:{os.environ['PATH']}")
    command = ["python3", "analyse.py"]
    launch = read_command(command)
    assert (launch.program, launch.name) == (real, "analyse")
    assert recorded_program(launch) == real


def test_a_shim_without_an_answer_is_taken_as_it_is(here, monkeypatch):
    shim = here / ".pyenv" / "shims" / "python3"
    make_executable(shim, "#!/bin/sh\nexit 1\n")
    make_executable(here / ".pyenv" / "bin" / "pyenv", "#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    assert read_command(["python3", "analyse.py"]).program == shim


def test_a_script_that_starts_others_is_not_recorded_as_its_interpreter(here):
    make_executable(here / "bin" / "parallel", b"#!/usr/bin/env perl\n")
    command = ["parallel", "echo", ":::", "a"]
    assert recorded_program(read_command(command)) is None


def mpi_of(folder: Path, soname: str, compiler: str) -> None:
    """An MPI of one function, and its compiler on the PATH under that name."""
    folder.mkdir()
    (folder / "mpi.h").write_text("int MPI_Finalize(void);\n")
    (folder / "mpi.c").write_text("int MPI_Finalize(void) { return 0; }\n")
    link = f"-L{folder} -Wl,-rpath,{folder} -Wl,--no-as-needed -lmade"
    library = f"cc -shared -fPIC -Wl,-soname,{soname} -o libmade.so mpi.c"
    subprocess.run(library.split(), cwd=folder, check=True)
    (folder / soname).symlink_to("libmade.so")
    make_executable(folder.parent / "bin" / compiler, f'#!/bin/sh\ncc -I{folder} "$@" {link}\n')


def test_of_two_mpis_as_debian_installs_them_the_program_s_is_found(here, monkeypatch):
    """`mpicc` is Open MPI's there, and MPICH has a soname and a compiler's name of its own."""
    monkeypatch.delenv("MPICC", raising=False)
    mpi_of(here / "open", "libmpi.so.40", "mpicc")
    mpi_of(here / "mpich", "libmpich.so.12", "mpicc.mpich")
    (here / "ranks.c").write_text("#include <mpi.h>\nint main(void) { return MPI_Finalize(); }\n")
    for compiler, soname in (("mpicc", "libmpi.so.40"), ("mpicc.mpich", "libmpich.so.12")):
        build = [here / "bin" / compiler, "-o", "ranks", "ranks.c"]
        subprocess.run(build, cwd=here, check=True)
        found = for_command(read_command(["mpiexec", "-n", "2", "./ranks"]))
        assert [mpi.soname for mpi in found] == [soname]


def test_the_launcher_of_a_batch_system_has_no_mpi_of_its_own(here, monkeypatch):
    """A module puts its MPI first on the PATH; that of the system lies beside srun by chance."""
    monkeypatch.delenv("MPICC", raising=False)
    monkeypatch.setenv("PATH", f"{here / 'module/bin'}:{here / 'bin'}:/usr/bin:/bin")
    mpi_of(here / "system", "libmpi.so.40", "mpicc")
    (here / "module").mkdir()
    mpi_of(here / "module/mpi", "libmpi.so.12", "mpicc")
    make_executable(here / "bin/srun", "#!/bin/sh\n")
    for launcher, soname in (("srun", "libmpi.so.12"), ("mpiexec", "libmpi.so.40")):
        assert compiler_of(here / "bin" / launcher).soname == soname
        found = for_command(read_command([launcher, "./analyse.py"]))
        assert found[0].soname == soname


def test_an_mpi_of_two_names_is_one(here, monkeypatch):
    monkeypatch.setenv("PATH", f"{here / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("MPICC", raising=False)
    mpi_of(here / "open", "libmpi.so.40", "mpicc.openmpi")
    (here / "bin" / "mpicc").symlink_to("mpicc.openmpi")
    found = [mpi for mpi in installed() if mpi.mpicc.parent == here / "bin"]
    assert [mpi.mpicc.name for mpi in found] == ["mpicc"]
