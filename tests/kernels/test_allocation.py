"""A rank without memory ends the program with a sentence, where it used to use what it had not
got."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.conftest import ROOT, Mpi

ALLOCATION = ROOT / "kernels" / "gridio" / "allocation.c"
PROGRAM = """
#include "allocation.h"
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **words)
{
    MPI_Init(&count, &words);
    char *text = gridio_allocate(0, 8), *more = gridio_enlarge(NULL, 3, 1);
    more = gridio_enlarge(memcpy(more, "ab", 3), 1000, 8);
    int good = text && !strcmp(more, "ab");
    free(text);
    free(more);
    if (count == 2 && good)
        *words[1] == 'a' ? gridio_allocate(SIZE_MAX / 8, 4) : gridio_enlarge(NULL, SIZE_MAX / 2, 4);
    MPI_Finalize();
    return !good;
}
"""


def test_no_memory_is_said(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    folder = f"-I{ALLOCATION.parent}"
    build = [mpi.mpicc, "-o", tmp_path / "program", folder, source, ALLOCATION]
    subprocess.run(build, check=True)
    for words, times in ((["a"], 2**61 - 1), (["e"], 2**63 - 1), ([], None)):
        command = mpi.launch(1, tmp_path / "program", *words)
        done = subprocess.run(command, env=mpi.variables(), capture_output=True, text=True)
        assert (done.returncode == 0) == (times is None)
        said = f"gridio: rank 0 has no memory for {times} times 4 bytes"
        assert times is None or said in done.stderr
