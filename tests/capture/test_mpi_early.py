"""Libraries whose constructors call MPI before capture knows whether the process may record."""

from __future__ import annotations

import shutil
import subprocess

from mpi_capture import HERE

RANKS = 3


def test_mpi_that_is_called_before_main_is_recorded_all_the_same(workplace, tmp_path):
    """What the calls contain is test_mpi_messages' matter."""
    programs, library = HERE / "programs", tmp_path / "libearly.so"
    subprocess.run(
        [workplace.mpi.mpicc, "-shared", "-fPIC", "-o", library, programs / "early_library.c"],
        check=True,
    )
    binary = tmp_path / "with_early"
    linked = ["-Wl,--no-as-needed", library, f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(
        [workplace.mpi.mpicc, "-o", binary, programs / "messages.c", *linked], check=True
    )
    run = workplace.run(tmp_path / "raw", RANKS, binary)
    assert "MPI calls are not recorded" not in run.stderr
    for rank in range(RANKS):
        functions = [call.function for call in run.ranks[rank].calls]
        assert functions[functions.index("MPI_Init") :].count("MPI_Ssend") == 1
        assert {"MPI_Sendrecv", "MPI_Recv", "MPI_Isend", "MPI_Waitall"} <= set(functions)


def test_an_mpi_library_of_another_name_is_told(workplace, tmp_path):
    """One function is enough of an MPI for that."""
    (tmp_path / "other.c").write_text(
        "int MPI_Init(int *argc, char ***argv) { (void)argc, (void)argv; return 0; }\n"
    )
    (tmp_path / "program.c").write_text(
        "int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n"
    )
    library, binary = tmp_path / "libothermpi.so", tmp_path / "program"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "other.c"], check=True)
    subprocess.run(
        ["cc", "-o", binary, tmp_path / "program.c", library, f"-Wl,-rpath,{tmp_path}"], check=True
    )
    environment = workplace.environment(tmp_path / "raw", TAILRACE_PROGRAM=str(binary))
    (tmp_path / "raw").mkdir()
    done = subprocess.run([binary], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert (
        f"MPI calls are not recorded: Tailrace does not know this MPI library, {library}."
        in done.stderr
    )


def test_mpich_s_abi_by_another_name_is_the_same(workplaces, tmp_path):
    """What is compiled for Debian's libmpich.so.12 serves a program of libmpi.so.12."""
    workplace = workplaces("mpich")
    (tmp_path / "libraries").mkdir()
    for library in workplace.libraries.iterdir():
        name = library.name.replace("libmpi.so.12", "libmpich.so.12")
        (tmp_path / "libraries" / name).symlink_to(library)
    assert (tmp_path / "libraries" / "libtailrace-mpi-libmpich.so.12.so").exists()
    binary, libraries = workplace.compile("messages.c"), str(tmp_path / "libraries")
    run = workplace.run(tmp_path / "raw", RANKS, binary, TAILRACE_LIBRARIES=libraries)
    assert "MPI calls are not recorded" not in run.stderr
    assert len(run.ranks) == RANKS and run.calls(0, "MPI_Ssend")


def test_a_rank_is_recorded_whatever_its_program_is_called(workplace, tmp_path):
    """ROMIO's own benchmark is called perf, as is what starts programs to count their events."""
    binary = shutil.copy(workplace.compile("messages.c"), tmp_path / "perf")
    run = workplace.run(tmp_path / "raw", RANKS, binary)
    assert len(run.ranks) == RANKS and run.calls(0, "MPI_Ssend")
