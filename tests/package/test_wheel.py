"""The wheel in a bare environment, away from the checkout: what a user gets by `pip install`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import OPEN_MPI_ENVIRONMENT, ROOT, Mpi, find_mpi
from tests.processes import LONGEST_WAIT_S

pytestmark = pytest.mark.slow

# Capture and report in an environment of their own; beyond it a cluster's quota begins to matter.
MEGABYTES_AT_MOST = 150

PROGRAM = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char block[4096] = {0};
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (int i = 0; i < 100; i++)
        MPI_File_write_at_all(file, (MPI_Offset)(2 * i + rank) * sizeof block, block,
                              (int)sizeof block, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
"""
BYTES_WRITTEN = 2 * 100 * 4096


def install_wheel(prefix: Path) -> None:
    subprocess.run(["make", "wheel"], cwd=ROOT, check=True, capture_output=True)
    wheel = next((ROOT / "dist").glob("tailrace-*.whl"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", prefix], check=True)
    install = ["-m", "pip", "--python", prefix / "bin" / "python", "install", "--quiet", wheel]
    subprocess.run([sys.executable, *install], check=True)


@pytest.fixture(scope="session")
def bare(made_once: Callable[..., Path]) -> Path:
    """An environment that holds the wheel and what it depends on, nothing else."""
    return made_once("bare", install_wheel)


@pytest.fixture
def run(bare: Path, tmp_path: Path):
    """`tailrace` of the bare environment in an empty directory, with these folders on its PATH."""

    def start(
        *words: str | Path, path: tuple[Path | str, ...] = ("/usr/bin", "/bin"), status: int = 0
    ) -> subprocess.CompletedProcess[str]:
        kept = ("HOME", "LANG", "LC_ALL", "TMPDIR", "XDG_CACHE_HOME")
        environment = {key: os.environ[key] for key in kept if key in os.environ}
        environment |= OPEN_MPI_ENVIRONMENT | {"PATH": ":".join(map(str, path))}
        done = subprocess.run(
            [bare / "bin" / "tailrace", *map(str, words)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_WAIT_S,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return start


def test_capture_and_report_are_small(bare: Path) -> None:
    files = [file for file in bare.rglob("*") if file.is_file() and not file.is_symlink()]
    assert sum(file.stat().st_size for file in files) < MEGABYTES_AT_MOST * 1_000_000


@pytest.mark.parametrize("name", ["mpich", "openmpi"])
def test_run_and_report(name: str, run, tmp_path: Path) -> None:
    """Both families: capture is compiled from the package's own sources and records the ranks."""
    mpi = find_mpi(name)
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    subprocess.run([mpi.mpicc, "-o", tmp_path / "program", source], check=True)
    path = (Path(mpi.mpicc).parent, "/usr/bin", "/bin")

    run("run", "-o", "traces", "--", *mpi.launch(2, "./program"), path=path)

    answer = json.loads(run("report", "traces/program.tailrace", "--json").stdout)
    assert answer["ranks"] == 2
    written = [each for each in answer["files"] if each["path"].endswith("/out")]
    assert [each["bytes_written"] for each in written] == [BYTES_WRITTEN]
    assert "<html" in (tmp_path / "traces" / "report.html").read_text()
    run("report", "traces", "-o", "again.html")
    assert (tmp_path / "again.html").stat().st_size > 10_000


def test_without_any_mpi(run, tmp_path: Path) -> None:
    """A compiler and no MPI: a program without MPI is recorded, doctor says what is missing."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("cc", "gcc", "as", "ld", "make", "sh", "uname", "dd", "env"):
        found = shutil.which(tool, path="/usr/bin:/bin")
        assert found, tool
        (tools / tool).symlink_to(found)
    words = ["dd", "if=/dev/zero", "of=zeros", "bs=4096", "count=25"]
    run("run", "-o", "traces", "--no-report", "--", *words, path=(tools,))
    answer = json.loads(run("report", "traces", "--json", path=(tools,)).stdout)
    assert sum(each["bytes_written"] for each in answer["files"]) >= 25 * 4096
    run("doctor", path=(tools,))


def test_bench(run, tmp_path: Path) -> None:
    mpi: Mpi = find_mpi("mpich")
    (tmp_path / "target").mkdir()
    path = (Path(mpi.mpicc).parent, "/usr/bin", "/bin")
    words = ["roms", "--ranks", "2", "--method", "serial", "--format", "posix", "--dir", "target"]
    answer = json.loads(run("bench", *words, "--json", path=path).stdout)
    assert answer["verified"] is True


def test_documented_models(run) -> None:
    """They come with the package: a name is enough."""
    words = ["--ranks", "4", "--method", "serial", "--format", "posix", "--target", "lustre"]
    answer = json.loads(run("simulate", "roms", *words, "--json").stdout)
    assert answer["prediction"]["predicted_s"] > 0


def test_what_studies_need_is_named(run) -> None:
    """The list needs nothing; running and reporting name the extra that is missing."""
    assert "cmaq" in run("study", "list").stdout
    for words in (["study", "run", "cmaq"], ["study", "report", "."]):
        stderr = run(*words, status=2).stderr
        assert "pandas, pyarrow, pydoe and scipy, which are not installed" in stderr
        assert "hint: pip install 'tailrace[study]'" in stderr


def test_python_names_what_data_frames_need(bare: Path, tmp_path: Path) -> None:
    code = (
        "import tailrace\n"
        "try: tailrace.open_study('.')\n"
        "except tailrace.TailraceError as error: print(error)\n"
    )
    words = [bare / "bin" / "python", "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "tailrace[study]" in done.stdout
