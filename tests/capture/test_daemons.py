"""What MPI starts in a call of its own is no process of the program's: without a launcher Debian's
Open MPI starts a daemon in MPI_Init."""

import subprocess

import pytest
import rawstream


@pytest.mark.parametrize("started", [0, 2])
def test_only_what_the_program_starts_is_counted(workplace, tmp_path, started: int):
    program, raw = workplace.compile("starts.c"), tmp_path / "raw"
    raw.mkdir(mode=0o700)
    environment = workplace.environment(raw, TAILRACE_PROGRAM=str(program))
    subprocess.run([program, str(started)], env=environment, cwd=tmp_path, check=True, timeout=600)
    (main,) = (each for each in rawstream.read_all(raw) if each.header["flags"] & 1)
    assert [call.function for call in main.calls if call.function == "MPI_Init"]
    assert int(main.meta.get("processes_started", 0)) == started
    assert started or "children_left" not in main.meta
