"""Studies of workloads: the kernels under Debian's Open MPI, every output verified."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import tailrace
from tailrace.bench import verify
from tailrace.bench.placement import Nodes
from tailrace.study.running import placing

from .bench_runs import Bench
from .study_files import lines, study, write

WORKLOAD = """\
schema = 1
name = "mine"
description = "A study of a workload."
repetitions = 2
[run]
workload = "WORKLOAD"
size = "tiny"
launcher = "MPIEXEC"
time_limit_s = 200
[factor.ranks]
levels = [1, 2]
[factor.target]
levels = ["here", "there"]
[target.here]
directory = "HERE"
[target.there]
directory = "THERE"
"""


def made(
    bench: Bench, workload: str, *more: str, size: str = "tiny", status: int = 0
) -> tailrace.Study:
    """The finished study; `more` are lines of the size `small`."""
    folder = bench.directory.parent
    for name in ("here", "there"):
        (folder / name).mkdir(exist_ok=True)
    text = (
        WORKLOAD.replace("WORKLOAD", workload)
        .replace("MPIEXEC", bench.mpiexec)
        .replace('"tiny"', f'"{size}"')
    )
    text = text.replace("THERE", str(folder / "there")).replace("HERE", str(folder / "here"))
    path = write(folder, text + "\n".join(["[size.small]", *more]))
    result = study("run", path, "-o", folder / "out")
    assert result.exit_code == status, result.output
    assert not list(folder.glob("*here/*"))  # of the targets: all that was written is gone again
    return tailrace.open_study(folder / "out")


@pytest.mark.slow
def test_every_run_is_verified_and_measured(bench: Bench) -> None:
    opened = made(bench, "cmaq", 'run.method = "serial"', 'run.format = "posix"', 'cache = "cold"')
    runs = opened.runs
    assert len(runs) == 8 and (runs["status"] == "done").all()
    assert runs["verified"].all()
    # 2 steps of 38 variables; both counted by hand in the tests of bench
    assert (
        runs["bytes_written"].nunique() == 1 and runs["bytes_written"][0] > 2 * 3 * 13 * 11 * 3 * 4
    )
    assert (runs["bytes_read"] > 0).all()
    for name in (
        "elapsed_s",
        "user_s",
        "create_s",
        "write_s",
        "read_s",
        "open_s",
        "output_s",
        "input_s",
        "launch_to_end_s",
    ):
        assert (runs[name] > 0).all(), name
    assert (runs["launch_to_end_s"] > runs["elapsed_s"]).all()
    assert (runs["output_s"] >= runs["write_s"]).all()
    created = (runs["create_share"] * runs["output_s"]).to_numpy()
    assert created == pytest.approx(runs["create_s"].to_numpy())
    assert set(runs["cache"]) <= {"cold"} or runs["cache"].str.startswith("not cold").any()
    written = opened.phases.query("direction == 'write'").groupby("run")["bytes"].sum()
    assert written.to_dict() == runs.set_index("run")["bytes_written"].to_dict()
    # the slowest rank's time in each step, summed, is what the table of runs has
    slowest = opened.phases.query("phase == 'write'").groupby("run")["maximum_s"].sum()
    assert slowest.to_numpy() == pytest.approx(
        runs.sort_values("run")["write_s"].to_numpy(dtype=float)
    )


def test_what_is_in_the_cache_may_be_a_factor(bench: Bench) -> None:
    more = (
        *('run.method = "serial"', 'run.format = "posix"', "repetitions = 1"),
        *("factor.ranks.levels = [1]", "factor.target.levels = ['here']"),
        "factor.inputs = {kind = 'cache', levels = ['cold', 'warm']}",
    )
    runs = made(bench, "cmaq", *more).runs.set_index("inputs")
    assert runs["cache"]["warm"] == "warm"
    assert runs["cache"]["cold"].endswith("cold") or runs["cache"]["cold"].startswith("not cold")


@pytest.mark.slow
def test_under_capture_the_efficiencies_are_columns(bench: Bench) -> None:
    runs = made(
        bench,
        "roms",
        'run.method = "serial"',
        'run.format = "posix"',
        "run.capture = true",
        "repetitions = 1",
    ).runs
    assert len(runs) == 4
    product = (
        runs["efficiency_load_balance"]
        * runs["efficiency_serialization"]
        * runs["efficiency_io_balance"]
    )
    product *= runs["efficiency_io_transfer"] * runs["efficiency_transfer"]
    assert product.to_numpy(dtype=float) == pytest.approx(
        runs["efficiency_parallel"].to_numpy(dtype=float), rel=1e-6
    )
    assert runs["pop_serialization"].between(0, 1).all()
    assert len(list((bench.directory.parent / "out" / "runs").glob("*/roms.tailrace"))) == 4


def test_what_was_written_wrong_is_wrong(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte in the midst of every file is turned over after the run and before it is read back."""

    def spoil(files: list[Path]) -> bool:
        for file in files:
            with file.open("r+b") as stream:
                stream.seek(file.stat().st_size // 2)
                byte = stream.read(1)
                stream.seek(-1, 1)
                stream.write(bytes([byte[0] ^ 0xFF]))
        return True

    monkeypatch.setattr(verify, "drop_cached", spoil)
    more = (
        'run.method = "serial"',
        'run.format = "posix"',
        "repetitions = 1",
        "factor.target.levels = ['here']",
    )
    runs = made(bench, "btio", *more, "factor.ranks.levels = [1]", status=1).runs
    assert runs["status"].tolist() == ["wrong"]
    assert "its fingerprint is" in runs["reason"][0]
    assert runs["verified"].tolist() == [False]


def test_what_is_read_is_prepared_once_for_all_that_read_it(bench: Bench) -> None:
    more = (
        'run.method = "serial"',
        'run.format = "posix"',
        "repetitions = 3",
        "factor.target.levels = ['here']",
    )
    opened = made(bench, "cgns", *more, size="tiny-read")
    prepared = [
        line["run"]
        for line in lines(opened.directory)
        if (opened.directory / f"runs/{line['run']:06}/prepare").exists()
    ]
    assert prepared == [0]
    assert (opened.runs["bytes_read"] > 0).all()


@pytest.mark.parametrize("capture", [False, True])
def test_calculix_is_a_program_like_others(bench: Bench, capture: bool) -> None:
    """Its ranks are threads, and its numbers come from a trace, which stays where it was asked
    for."""
    if shutil.which("ccx") is None:
        pytest.skip("ccx is not installed")
    before = dict(os.environ)
    more = (f"run.capture = {str(capture).lower()}", "repetitions = 1")
    levels = ("factor.target.levels = ['here']", "factor.ranks.levels = [2]")
    opened = made(bench, "calculix", *more, *levels)
    assert opened.runs["status"].tolist() == ["done"] and opened.runs["verified"].all()
    assert (opened.runs[["elapsed_s", "user_s", "write_s", "bytes_written"]] > 0).all(axis=None)
    traces = list((bench.directory.parent / "out" / "runs").rglob("*.tailrace"))
    assert [trace.name for trace in traces] == (["calculix.tailrace"] if capture else [])
    assert dict(os.environ) == before


def test_what_has_no_launcher_runs_on_its_node(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is entered; CalculiX was run where the study was started, and its placement said node1."""
    if shutil.which("ccx") is None:
        pytest.skip("ccx is not installed")
    entered = bench.directory.parent / "entered"
    enter = ("sh", "-c", f'shift 2; echo "$1" >> {entered}; exec "$@"', "enter")
    monkeypatch.setattr(placing, "nodes", lambda _: Nodes(("node1", "node2"), "ssh", enter))
    levels = ("run.nodes = 1", "factor.ranks.levels = [1]")
    runs = made(bench, "calculix", *levels).runs
    assert (runs["status"] == "done").all() and set(runs["placement"]) == {"node1:1"}
    assert len(entered.read_text().splitlines()) == len(runs)


def test_a_workload_that_takes_too_long_is_a_timeout(bench: Bench) -> None:
    more = (
        "run.set = {steps = 1000000, work = 100}",
        "run.time_limit_s = 1",
        "repetitions = 1",
        "factor.target.levels = ['here']",
    )
    runs = made(
        bench,
        "roms",
        *more,
        'run.method = "serial"',
        'run.format = "posix"',
        "factor.ranks.levels = [1]",
        status=1,
    ).runs
    assert runs["status"].tolist() == ["timeout"]
    assert "was not over after 1 s" in runs["reason"][0]


def test_a_pair_of_method_and_format_is_one_factor(bench: Bench) -> None:
    more = (
        "factor.how = {kind = 'pair', levels = ['serial posix', 'collective mpiio']}",
        "repetitions = 1",
    )
    opened = made(
        bench, "btio", *more, "factor.target.levels = ['here']", "factor.ranks.levels = [4]"
    )
    assert set(opened.runs["how"]) == {"serial posix", "collective mpiio"}
    assert (opened.runs["status"] == "done").all()


WRONG = [
    ('run.method = "diagonal"', "there is no method 'diagonal'"),
    ('run.size = "huge"', "roms has no size 'huge'; its sizes are"),
    ("run.set = {pionts = 3}", "roms, pionts: there is no such key"),
    (
        "factor.how = {kind = 'pair', levels = ['serial pnetcdf']}",
        "the method serial cannot be combined with the format pnetcdf",
    ),
    ("factor.size = {levels = ['tiny', 'giant']}", "roms has no size 'giant'"),
]


@pytest.mark.parametrize(("line", "sentence"), WRONG, ids=[case[0] for case in WRONG])
def test_what_no_run_could_do_is_told_before_the_first(
    bench: Bench, line: str, sentence: str
) -> None:
    folder = bench.directory.parent
    for name in ("here", "there"):
        (folder / name).mkdir(exist_ok=True)
    text = WORKLOAD.replace("WORKLOAD", "roms").replace("MPIEXEC", bench.mpiexec)
    text = text.replace("THERE", str(folder / "there")).replace("HERE", str(folder / "here"))
    if "run.size" in line:
        text = text.replace('size = "tiny"\n', "")
    result = study("run", write(folder, f"{text}[size.small]\n{line}\n"), "-o", folder / "out")
    assert result.exit_code == 2
    assert sentence.split(";")[0] in result.stderr
    assert not (folder / "out").exists()


def test_a_workload_of_ones_own_stays_with_the_study(bench: Bench) -> None:
    folder = bench.directory.parent
    (folder / "own.toml").write_text(
        'name = "own"\ndescription = "Mine."\nprogram = "solver"\ndefault_size = "tiny"\nmethods'
        ' = ["serial"]\n'
        'formats = ["posix"]\n[solver]\ngrid = [6, 5, 4]\nsteps = 2\n[size.tiny]\n'
        '[[output]]\nname = "o"\n[[output.variable]]\nname = "t"\nsource = "tracer:1"\n'
    )
    opened = made(bench, "own.toml", "repetitions = 1")
    (folder / "own.toml").unlink()
    assert study("run", opened.directory).exit_code == 0
    assert (opened.runs["bytes_written"] == 2 * 6 * 5 * 4 * 8).all()


@pytest.mark.slow
def test_shares_of_shared_files_are_of_the_time_in_them(bench: Bench) -> None:
    """Of a kernel, under capture or not: what is no read is a write."""
    shared = ('run.method = "collective"', 'run.format = "mpiio"', "repetitions = 1")
    several = ("factor.ranks.levels = [2]", "factor.target.levels = ['here']")
    for capture in ("run.capture = true", "run.capture = false"):
        shutil.rmtree(bench.directory.parent / "out", ignore_errors=True)
        (run,) = made(bench, "h5perf", *shared, *several, capture).runs.to_dict("records")
        moved = run["shared_read_s"] + run["shared_write_s"]
        assert run["shared_read_s"] > 0 < run["shared_write_s"]
        assert run["shared_read_share"] == pytest.approx(run["shared_read_s"] / moved)
        assert run["shared_write_share"] == pytest.approx(run["shared_write_s"] / moved)
