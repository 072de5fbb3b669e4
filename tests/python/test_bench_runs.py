"""`tailrace bench`: its answer, its options, and what it says and leaves when a run cannot come to
its end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import tailrace
from tailrace.bench import calculix_results, kernels, mesh
from tailrace.bench.workload import Calculix
from tailrace.cli import cli

from ..processes import LONGEST_WAIT_S
from .bench_runs import Bench
from .test_report import check_schema

TINY = ("--size", "tiny")
# Long enough to be ended before it is over.
# Minutes of computing, with little output: what a test would leave behind must not fill the disk.
LONG = (
    "--size",
    "small",
    "--set",
    "steps=100000",
    "--set",
    "every=500",
    "--method",
    "serial",
    "--format",
    "posix",
)

OWN = """\
name = "mine"
description = "Mine."
program = "solver"
default_size = "one"
[solver]
grid = [6, 5, 4]
steps = 2
[size.one]
[[output]]
name = "o"
[[output.variable]]
name = "t"
source = "tracer:1"
"""


def test_the_first_line_is_the_answer_and_every_step_is_a_row_of_all(bench: Bench) -> None:
    options = ("--method", "serial", "--format", "posix", "--all")
    result = bench.run("roms", *TINY, *options, ranks=2)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("roms (serial, posix, on 2 ranks, ")
    assert re.search(r" wrote 340 kB in .* and read 17\.2 kB in ", lines[0])
    assert lines[0].endswith("every element was read back and is right.")
    table = lines.index(
        next(line for line in lines if line.startswith("ocean_his, written by serial in posix"))
    )
    assert [line.split()[0] for line in lines[table + 1 : table + 5]] == ["step", "0", "1", "2"]


def test_without_all_the_answer_fits_on_one_screen(bench: Bench) -> None:
    """BT-IO's 40 steps are written and read back: 80 rows, of which two remain."""
    result = bench.run("btio", "--method", "serial", "--format", "posix", "--repeat", 2, ranks=4)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) <= 24
    rows = [line.split() for line in lines if line.startswith("solution ")]
    assert [row[1:3] for row in rows] == [["write", "40"], ["read", "40"]]
    assert "the fastest of 2 runs" in lines[0]
    assert any(line.startswith("runs: ") for line in lines)


@pytest.mark.parametrize("sync", [False, True])
def test_the_first_line_says_whether_anything_was_synced(
    bench: Bench, tmp_path: Path, sync: bool
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(OWN.replace('name = "o"', f'name = "o"\nsync = {str(sync).lower()}'))
    first = bench.run(str(own), "--method", "serial", "--format", "posix").stdout.splitlines()[0]
    assert ("with open, sync and close" in first) == sync
    assert ("with open and close but without sync" in first) == (not sync)


def test_json_keeps_its_contract(bench: Bench) -> None:
    hints = ("--hint", "cb_nodes=1", "--hint", "romio_cb_write=enable")
    answer = bench.answer(
        "cmaq", *TINY, "--method", "collective", "--format", "mpiio", *hints, ranks=2
    )
    check_schema(answer, "bench.json")
    streams = {stream["stream"]: stream for stream in answer["runs"][0]["streams"]}
    assert {name: stream["direction"] for name, stream in streams.items()} == {
        "METCRO3D": "read",
        "METDOT3D": "read",
        "METCRO2D": "read",
        "EMIS3D": "read",
        "CCTM_CONC": "write",
        "CCTM_ACONC": "write",
        "CCTM_DRYDEP": "write",
        "CCTM_WETDEP1": "write",
    }
    # The first state and 2 steps, of 36 three-dimensional variables of 13 × 11 × 3 cells in 4
    # bytes, and of TFLAG's date and time of each
    assert streams["CCTM_CONC"]["bytes"] == 3 * (36 * 13 * 11 * 3 * 4 + 36 * 2 * 4)
    assert streams["CCTM_CONC"]["hints"]["cb_nodes"] == "1"
    assert streams["CCTM_CONC"]["hints"]["romio_cb_write"] == "enable"
    assert answer["environment"]["mpi"] == "Open MPI"


def test_rates_say_what_they_include(bench: Bench) -> None:
    options = (*TINY, "--method", "serial", "--format", "netcdf4")
    bench.need("serial", "netcdf4")
    stream = bench.answer("roms", *options, ranks=2)["runs"][0]["streams"][0]
    steps, rates = stream["steps"], stream["rates"]
    assert stream["direction"] == "write"
    spent = sum(step["step_s"]["max"] for step in steps)
    assert rates["write_rate_including_open_and_close_mb_per_s"] == pytest.approx(
        stream["bytes"] / spent / 1e6
    )
    assert rates["write_rate_mb_per_s"] > rates["write_rate_including_open_and_close_mb_per_s"]
    for step in steps:
        write = step["write_s"]
        assert 0 < write["min"] <= write["mean"] <= write["max"]
        assert write["rank_of_max"] in (0, 1)


def test_every_workload_is_listed_with_its_pairs() -> None:
    result = CliRunner().invoke(cli, ["bench", "--list", "--json"])
    listed = json.loads(result.stdout)
    check_schema(listed, "bench-list.json")
    assert [workload["name"] for workload in listed] == [
        "btio",
        "calculix",
        "cgns",
        "cmaq",
        "h5perf",
        "roms",
        "wrf",
    ]
    text = CliRunner().invoke(cli, ["bench", "--list"]).stdout
    assert all(workload["name"] in text for workload in listed)


def test_repeated_runs_are_told_apart(bench: Bench) -> None:
    answer = bench.answer("btio", *TINY, "--method", "serial", "--format", "posix", "--repeat", 2)
    assert len(answer["runs"]) == 2
    assert answer["verified"]
    assert bench.left() == []


def test_what_is_kept_is_all_that_was_written(bench: Bench) -> None:
    answer = bench.answer("wrf", *TINY, "--method", "serial", "--format", "posix", "--keep")
    folder = Path(answer["runs"][0]["files"])
    named = {path.name for path in folder.iterdir()}
    assert named == {
        "wrfout_d01-000000.grid",
        "wrfout_d01-000001.grid",
        "plan",
        "records",
        "output",
    }


def test_under_capture_the_efficiencies_are_added(bench: Bench) -> None:
    answer = bench.answer(
        "roms", *TINY, "--method", "serial", "--format", "posix", "--capture", ranks=2
    )
    check_schema(answer, "bench.json")
    capture = answer["runs"][0]["capture"]
    assert 0 < capture["efficiency"]["parallel"] <= 1
    calls = tailrace.open(capture["trace"]).functions.set_index("name")["calls"]
    assert (
        calls["MPI_Init"] == 2
        and calls[[name for name in calls.index if name.startswith("MPI_")]].sum() > 100
    )
    assert Path(capture["page"]).is_file()
    written = sum(file["bytes_written"] for file in capture["files"] if "ocean_his" in file["path"])
    stream = answer["runs"][0]["streams"][0]
    assert written >= stream["bytes"]  # and a header


def test_a_file_of_ones_own_and_changed_keys(bench: Bench, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(OWN)
    options = ("--method", "serial", "--format", "posix", "--set", "grid=9x8x7", "--set", "steps=3")
    answer = bench.answer(str(own), *options)
    assert answer["workload"]["parameters"]["grid"] == [9, 8, 7]
    assert answer["runs"][0]["streams"][0]["bytes"] == 3 * 9 * 8 * 7 * 8


WRONG_USES = [
    (
        ("cmaq", "--method", "serial", "--format", "pnetcdf"),
        1,
        "pnetcdf goes with collective, independent, aggregated",
    ),
    (
        ("roms", "--method", "collective", "--format", "netcdf3"),
        1,
        "netcdf3 goes with serial, file-per-rank",
    ),
    (
        ("roms", "--method", "diagonal"),
        1,
        "there is no method 'diagonal'\n\nhint: the methods are serial, collective",
    ),
    (("h5perf", "--method", "serial"), 1, "h5perf does not support the method serial"),
    (("btio",), 3, "btio runs on a square number of ranks, not on 3"),
    (("btio", "--size", "D"), 4, "btio has no size 'D'"),
    (("btio", "--set", "pionts=8"), 4, "--set pionts: there is no such key"),
    (("btio", "--set", "steps=2"), 4, "--set steps: 2 steps, and 5 between two outputs"),
    (("btio", "--hint", "cb_nodes"), 4, "--hint 'cb_nodes' is not of the form key=value"),
    (("bitio",), 1, "there is no workload bitio"),
    (("roms", "--mpiexec", "/no/mpiexec"), 1, "there is no /no/mpiexec"),
]


@pytest.mark.parametrize(
    ("words", "ranks", "sentence"), WRONG_USES, ids=[" ".join(case[0]) for case in WRONG_USES]
)
def test_wrong_use_is_one_sentence(
    bench: Bench, words: tuple[str, ...], ranks: int, sentence: str
) -> None:
    result = CliRunner().invoke(
        cli, ["bench", *words, "--ranks", str(ranks), "--dir", str(bench.directory)]
    )
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.output
    assert bench.left() == []


def test_an_unknown_setting_is_told_by_the_kernel(bench: Bench) -> None:
    result = bench.run(
        "roms", *TINY, "--method", "serial", "--format", "posix", "--setting", "chunks=8"
    )
    assert result.exit_code == 1
    assert "chunks" in result.stderr
    assert bench.left() == []


@pytest.mark.parametrize(
    ("directory", "sentence"),
    [
        ("/proc", "/proc cannot be written"),
        ("/proc/nowhere", "there is no directory /proc/nowhere"),
    ],
)
def test_a_directory_that_is_not_there_or_cannot_be_written(
    bench: Bench, directory: str, sentence: str
) -> None:
    result = CliRunner().invoke(
        cli, ["bench", "roms", "--mpiexec", bench.mpiexec, "--dir", directory]
    )
    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_one_sentence(bench: Bench, small_disk: Path) -> None:
    words = [
        "bench",
        "roms",
        "--size",
        "small",
        "--ranks",
        "2",
        "--mpiexec",
        bench.mpiexec,
        "--time-limit",
        "200",
    ]
    words += ["--dir", str(small_disk), "--method", "serial", "--format", "posix"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 1
    assert "cannot write" in result.stderr
    assert "its file system has" in result.stderr or "No space left on device" in result.stderr
    assert list(small_disk.iterdir()) == []


def test_a_run_that_takes_too_long_is_ended(bench: Bench) -> None:
    result = bench.run("roms", *LONG, "--time-limit", 2, ranks=2)
    assert result.exit_code == 1
    assert "time limit of 2 s" in result.stderr
    assert bench.left() == []


def descendants(pid: int) -> dict[int, str]:
    """The processes below one, with their command lines."""
    done = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    found, commands = {pid}, {int(row[0]): row[-1] for row in rows}
    while more := {int(row[0]) for row in rows if int(row[1]) in found} - found:
        found |= more
    return {process: commands[process] for process in found - {pid}}


@contextlib.contextmanager
def started(bench: Bench, tailrace: list[str]) -> Iterator[tuple[subprocess.Popen, list[int]]]:
    """A long run whose two solvers are at work."""
    words = [
        *tailrace,
        "bench",
        "roms",
        *LONG,
        "--ranks",
        "2",
        "--mpiexec",
        bench.mpiexec,
        "--dir",
        bench.directory,
    ]
    process = subprocess.Popen(
        list(map(str, words)), stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    try:
        yield process, _solvers(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _solvers(process: subprocess.Popen) -> list[int]:
    """Of the run itself, not of what is prepared for it."""
    deadline = time.monotonic() + 300  # the kernels may have to be compiled first
    while time.monotonic() < deadline:
        commands = descendants(process.pid)
        solvers = [
            pid
            for pid, line in commands.items()
            if "bin/solver --plan" in line.partition("mpiexec")[0]
        ]
        if len(solvers) == 2 and all("run-1/plan" in commands[pid] for pid in solvers):
            time.sleep(0.5)  # past MPI_Init
            return solvers
        time.sleep(0.1)
    raise AssertionError(f"no solvers: {process.poll()}")


def state(pid: int) -> str:
    """A letter as in ps; Z: it is over, and its parent has not asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if state(pid) != "Z"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_process_and_no_file(
    bench: Bench, tailrace: list[str], number: int
) -> None:
    with started(bench, tailrace) as (process, solvers):
        process.send_signal(number)
        _, said = process.communicate(timeout=LONGEST_WAIT_S)
        assert process.returncode == 130
        assert "the run was interrupted, and all its processes were ended" in said
        assert "Traceback" not in said
        assert alive(solvers) == []
        assert bench.left() == []


def test_a_killed_rank_ends_the_run(bench: Bench, tailrace: list[str]) -> None:
    with started(bench, tailrace) as (process, solvers):
        os.kill(solvers[1], signal.SIGKILL)
        _, said = process.communicate(timeout=LONGEST_WAIT_S)
        assert process.returncode == 1
        assert "tailrace: solver " in said
        assert "Traceback" not in said
        assert alive(solvers) == []


@pytest.fixture
def calculix_answer(bench: Bench) -> dict:
    if subprocess.run(["which", "ccx"], capture_output=True).returncode != 0:
        pytest.skip("there is no ccx")
    return bench.answer("calculix", *TINY, "--keep", ranks=2)


@pytest.mark.measured("the share of time in writes")
def test_calculix_says_what_the_paper_does(calculix_answer: dict) -> None:
    check_schema(calculix_answer, "bench.json")
    assert calculix_answer["verified"]
    seen = calculix_answer["runs"][0]["calculix"]
    assert {"beam.frd", "beam.dat", "beam.sta", "beam.cvg", "beam.inp"} <= {
        file["name"] for file in seen["files"]
    }
    assert seen["write_share_of_transfer_time"] > 0.9  # the paper: 93 to 99.6 %
    folder = Path(calculix_answer["runs"][0]["files"])
    by_name = {file["name"]: file for file in seen["files"]}
    for name in ("beam.frd", "beam.dat"):
        assert by_name[name]["bytes_written"] == (folder / name).stat().st_size
    assert seen["posix"]["bytes"] + seen["stdio"]["bytes"] == sum(
        file["bytes_read"] + file["bytes_written"] for file in seen["files"]
    )


def test_a_changed_displacement_of_calculix_is_found(calculix_answer: dict) -> None:
    folder = Path(calculix_answer["runs"][0]["files"])
    beam = mesh.Beam(Calculix(**calculix_answer["workload"]["parameters"]))
    nodes, load_n = len(beam.coordinates), beam.force_n()
    assert nodes == 9 * 3 * 3
    assert list(calculix_results.problems(folder / "beam", nodes, 2, load_n)) == []
    lines = (folder / "beam.dat").read_text().splitlines()
    place = next(n for n, line in enumerate(lines) if line.split()[:1] == ["81"])
    lines[place] = f"{81:10d}" + "  0.000000E+00" * 3
    (folder / "beam.dat").write_text("\n".join(lines) + "\n")
    problems = [text for _, text in calculix_results.problems(folder / "beam", nodes, 2, load_n)]
    assert len(problems) == 1
    assert problems[0].startswith("DISP, output 1: node 81, component 1")


def test_doctor_names_the_pairs_of_the_build(bench: Bench) -> None:
    answer = json.loads(CliRunner().invoke(cli, ["doctor", "--json"]).stdout)
    check_schema(answer, "doctor.json")
    listed = {(pair["method"], pair["format"]) for pair in answer["kernels"]["pairs"]}
    if answer["kernels"]["mpiexec"] == bench.mpiexec:
        assert listed == bench.kernels.pairs
    assert ("serial", "posix") in listed


def test_without_cmake_it_is_said_how_to_get_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TAILRACE_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr(kernels, "shutil", SimpleNamespace(which=lambda _name: None))
    result = bench.run("roms", *TINY)
    assert result.exit_code == 2
    assert "there is no cmake" in result.stderr
    assert "pip install cmake" in result.stderr
