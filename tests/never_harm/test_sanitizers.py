"""Programs compiled with gcc's sanitizers start under capture, and still find what they look
for."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.conftest import find_mpi

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
int main(int argc, char **argv)
{
    char *bytes = malloc(10);
    FILE *file = fopen("written", "w");
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
#endif
    fprintf(file, "text");
    fclose(file);
    bytes[argc > 1 ? 10 : 9] = 'x';
    printf("%c\\n", bytes[9] ? 'y' : 'n');
    free(bytes);
    return 3;
}
"""
MISTAKE = "heap-buffer-overflow"


def compiled(compiler, folder, *flags):
    (folder / "program.c").write_text(SOURCE)
    binary = folder / "program"
    command = [compiler, "-g", *flags, "-o", binary, folder / "program.c"]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip(f"{compiler} has no {' '.join(flags)}")
    return binary


def ran(command, folder, **more):
    variables = os.environ | more
    return subprocess.run(
        [str(word) for word in command], cwd=folder, env=variables, capture_output=True, text=True
    )


@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined", "leak"])
def test_a_sanitized_program_starts(tailrace, tmp_path, sanitizer):
    binary = compiled("gcc", tmp_path, f"-fsanitize={sanitizer}")
    capture = [*tailrace, "run", "--no-report", "-o", "t", "--"]
    bare, captured = ran([binary], tmp_path), ran([*capture, binary], tmp_path)
    assert (captured.returncode, captured.stdout) == (bare.returncode, bare.stdout)
    assert bare.stdout == "y\n" and list((tmp_path / "t").glob("*.tailrace"))


def test_the_sanitizer_still_finds_mistakes_and_obeys_the_user(tailrace, tmp_path):
    binary = compiled("gcc", tmp_path, "-fsanitize=address")
    capture = [*tailrace, "run", "--no-report", "-o", "t", "--"]
    done = ran([*capture, binary, "mistake"], tmp_path, ASAN_OPTIONS="exitcode=77")
    assert done.returncode == 77 and MISTAKE in done.stderr


def test_sanitized_ranks_start(tailrace, tmp_path):
    mpi = find_mpi("mpich")
    binary = compiled(mpi.mpicc, tmp_path, "-fsanitize=address", "-DWITH_MPI")
    capture = [*tailrace, "run", "--no-report", "-o", "t", "--"]
    command = mpi.launch(2, binary)
    quiet = {"ASAN_OPTIONS": "detect_leaks=0"}  # MPICH's own
    bare, captured = (
        ran(words, tmp_path, **mpi.variables(**quiet)) for words in (command, [*capture, *command])
    )
    assert (captured.returncode, captured.stdout) == (bare.returncode, bare.stdout)
    assert bare.stdout == "y\n" * 2 and "not recorded" not in captured.stderr
    assert list((tmp_path / "t").glob("*.tailrace"))
