"""What a simulated run takes, by arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailrace import engine
from tailrace.bench import loader
from tailrace.cli import cli
from tailrace.predict.model import load, named
from tailrace.simulate import description

from ..python.test_report import check_schema
from .test_model import CALLS, toml, written

# Two arrays of 8 × 6 × 2 numbers, after each of 4 steps, and nothing else.
WORKLOAD = """
name = "small"
description = "Two arrays."
program = "solver"
default_size = "only"
[solver]
grid = [8, 6, 2]
steps = 4
[size.only]
[[output]]
name = "history"
variable = [{ name = "a{n}", count = 2, source = "tracer:{n}" }]
"""
ARRAY_BYTES = 8 * 6 * 2 * 8
NETWORK = {"latency": 1000.0, "byte": 0.1, "eager_limit_bytes": 32768}
COSTS = {"open": 1e-3, "close": 2e-3, "look_up": 3e-3, "write": 5e-3, "other": 7e-3}


def simulated(directory: Path, model: str, *options: object, workload: str = WORKLOAD) -> Result:
    (directory / "small.toml").write_text(workload)
    words = ("simulate", directory / "small.toml", "--target", written(directory, model), *options)
    return CliRunner().invoke(cli, [str(word) for word in words])


def prediction(directory: Path, model: str, *options: object, workload: str = WORKLOAD) -> dict:
    result = simulated(directory, model, *options, "--json", workload=workload)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    check_schema(answer, "simulate.json")
    return answer["prediction"]


def per_call() -> str:
    return toml(**{name: str(cost) for name, cost in COSTS.items()})


def test_one_rank_takes_its_calls_and_its_steps(tmp_path: Path) -> None:
    found = prediction(
        tmp_path, per_call(), "--ranks", 1, "--method", "serial", "--step-seconds", 0.25
    )
    # gridio looks up the name, the partial name, the room on the disk, and the name again; opens
    # and closes; writes the header, eight arrays and the number of steps; and renames.
    calls = {"look_up": 4, "open": 1, "close": 1, "write": 10, "other": 1}
    expected = 4 * 0.25 + sum(COSTS[name] * count for name, count in calls.items())
    assert found["predicted_s"] == pytest.approx(expected, abs=1e-8)
    assert found["interval_s"] == [found["predicted_s"]] * 2
    efficiency = found["efficiency"]
    assert efficiency["io"] == pytest.approx(1 / expected)
    assert efficiency["transfer"] == efficiency["load_balance"] == efficiency["serialization"] == 1
    assert found["next"] == "time in files"


def test_ranks_share_the_way_to_the_servers(tmp_path: Path) -> None:
    model = toml(write_rate="1000.0")
    options = ("--ranks", 4, "--latency", 0, "--bandwidth", "1000GB", "--format", "posix")
    own, shared = (
        prediction(tmp_path, model, *options, "--method", method)["predicted_s"]
        for method in ("file-per-rank", "independent")
    )
    written_bytes = 4 * 2 * ARRAY_BYTES
    # a header of a page, and 27 bytes that say how many steps are whole, in each file
    assert shared == pytest.approx((written_bytes + 4096 + 27) / 1000, rel=1e-6)
    assert own == pytest.approx((written_bytes + 4 * (4096 + 27)) / 1000, rel=1e-6)


def test_the_master_waits_for_what_the_others_send(tmp_path: Path) -> None:
    options = ("--ranks", 4, "--latency", 0, "--method", "serial")
    found = prediction(tmp_path, toml(), *options, "--bandwidth", "1000B", "--format", "posix")
    # three of four tiles of each array travel; and in each step, and before the first, each rank
    # sends the four edges of 4 × 3 × 2 cells of two fields; rank 0 tells two, and these the others,
    # the 8 bytes of how much room there is
    gathered = 4 * 2 * ARRAY_BYTES * 3 / 4
    edges = 5 * 2 * (4 + 3) * 2 * 2 * 8
    assert found["predicted_s"] == pytest.approx((gathered + edges + 2 * 8) / 1000, rel=1e-6)
    assert found["next"] == "time in MPI"


def test_the_interval_holds_what_is_not_known_of_the_network(tmp_path: Path) -> None:
    options = ("--ranks", 4, "--method", "serial")
    found = prediction(tmp_path, per_call(), *options)
    low, high = found["interval_s"]
    assert low < found["predicted_s"] < high
    assert any("--latency" in sentence for sentence in found["assumes"])
    known = prediction(tmp_path, per_call(), *options, "--latency", 1e-6, "--bandwidth", "1GB")
    assert known["interval_s"] == [known["predicted_s"]] * 2
    assert not any("--latency" in sentence for sentence in known["assumes"])


def test_uneven_tiles_are_load_imbalance(tmp_path: Path) -> None:
    options = ("--ranks", 4, "--method", "serial", "--step-seconds", 1, "--set", "tiles=4x1")
    even = prediction(tmp_path, toml(), *options)
    assert even["efficiency"]["load_balance"] == 1
    uneven = prediction(tmp_path, toml(), *options, "--set", "grid=9x6x2")
    # 9 cells along x are 3 + 2 + 2 + 2
    assert uneven["efficiency"]["load_balance"] == pytest.approx(9 / 12)


def test_calls_that_are_taken_together_take_as_long(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(WORKLOAD)
    workload = loader.sized(
        loader.load(str(tmp_path / "small.toml")), None, {"grid": [64, 64, 8]}, ""
    )
    changes = dict.fromkeys(CALLS, "2e-6") | {"copy_in": "2e9", "write_rate": "3e9"}
    model = load(written(tmp_path, toml(**changes, write_behind_bytes="1e5"))).parameters()
    model |= {"scattered_write": 1000.0, "sent_write": 50.0, "sent_scattered_write": 20.0}
    for method in ("independent", "file-per-rank", "aggregated"):
        described = description.described(workload, 16, 4, (method, "posix"), 0.0, {})
        each, together = (
            engine.simulate(described, model, **NETWORK, calls_at_most=calls)
            for calls in (10_000_000, 10)
        )
        assert each["together"] == 1
        assert together["together"] > 1
        assert together["runtime_ns"] == pytest.approx(each["runtime_ns"], rel=0.1)


@pytest.mark.parametrize("write_behind_bytes", ["0", "1e12"])
def test_outputs_that_repeat_take_as_long(tmp_path: Path, write_behind_bytes: str) -> None:
    """Of many calls; but not while what was written piles up in a cache without an end."""
    (tmp_path / "small.toml").write_text(WORKLOAD)
    changes = {"grid": [64, 64, 8], "steps": 40}
    workload = loader.sized(loader.load(str(tmp_path / "small.toml")), None, changes, "")
    costs = dict.fromkeys(CALLS, "1e-6")
    content = toml(**costs, write_rate="1e8", write_behind_bytes=write_behind_bytes)
    model = load(written(tmp_path, content)).parameters()
    for method in ("independent", "file-per-rank", "aggregated"):
        described = description.described(workload, 16, 4, (method, "posix"), 0.0, {})
        each, some = (
            engine.simulate(described, model, **NETWORK, calls_at_most=calls)
            for calls in (10_000_000, 10)
        )
        assert each["repeated"] == 0
        assert some["repeated"] == (36 if write_behind_bytes == "0" else 0)
        assert some["runtime_ns"] == pytest.approx(each["runtime_ns"], rel=0.02)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--ranks", 49), "49 ranks cannot be laid out so that each has a cell"),
        (("--ranks", 2, "--format", "hdf5"), "the format hdf5 is not simulated yet"),
        (("--ranks", 2, "--method", "teleport"), "there is no method 'teleport'"),
        (("--ranks", 2, "--setting", "chunk=block"), "the setting chunk is not simulated"),
        (("--ranks", 2, "--setting", "whole_writers=none"), "whole_writers cannot be none"),
        (("--ranks", 2, "--setting", "writers=0"), "writers cannot be 0"),
        (("--ranks", 2, "--hint", "striping_unit=1"), "the hint striping_unit is not simulated"),
        (
            ("--ranks", 2, "--setting", "writers=1", "--setting", "writers_per_node=1"),
            "writers and writers_per_node exclude each other",
        ),
        (
            ("--ranks", 2, "--method", "collective", "--setting", "whole_writers=all"),
            "whole_writers=all is not simulated with the method collective",
        ),
        (("--ranks", 2, "--method", "collective", "--format", "posix"), "cannot be combined"),
        (("--ranks", 2, "--size", "huge"), "small has no size"),
        (("--ranks", 2, "--set", "grid=0x1x1"), "grid"),
        (("--ranks", 0), "--ranks"),
        (("--ranks", 2, "--step-seconds", -1), "--step-seconds"),
        (("--ranks", 2, "--step-seconds", "nan"), "--step-seconds: 'nan' is not a number"),
        (("--ranks", 2, "--latency", "nan"), "--latency: 'nan' is not a number"),
        (("--ranks", 2, "--bandwidth", 0), "never arrive"),
        (("--ranks", 2, "--eager-limit", f"{'9' * 20}T"), "more than any file may have"),
        (("--ranks", 10**10), "10,000,000,000 ranks are more than can be simulated"),
        (("--ranks", 2, "--set", f"steps={10**30}"), "steps are more than can be simulated"),
        (("--ranks", 2, "--set", f"tracers={10**12}"), "tracers are more than"),
        (("--ranks", 2, "--set", f"grid={10**6}x{10**6}x{10**6}"), "bytes of a variable are more"),
        ((), "--ranks"),
    ],
)
def test_wrong_use_is_told_in_a_sentence_with_a_hint(
    tmp_path: Path, options: tuple[object, ...], sentence: str
) -> None:
    result = simulated(tmp_path, toml(), *options)
    assert result.exit_code == 2, result.output
    assert sentence in result.output
    assert "hint: " in result.output and "Traceback" not in result.output


def test_only_the_solver_is_simulated(tmp_path: Path) -> None:
    words = ["simulate", "btio", "--ranks", "4", "--target", str(written(tmp_path, toml()))]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert "btio runs the program btio, which is not simulated yet" in result.output


def test_the_answer_in_words(tmp_path: Path) -> None:
    words = ("--ranks", 1, "--method", "serial", "--format", "posix")
    result = simulated(tmp_path, per_call(), *words)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == (
        "small (only) on 1 rank, serial, posix, on plain, would take 72.0 ms."
    )
    assert "- computing takes no time" in result.stdout and "2 µs" not in result.stdout
    assert "- a message takes 2 µs" in simulated(tmp_path, per_call(), "--ranks", 2).stdout


@pytest.mark.parametrize("method", ["independent", "aggregated"])
@pytest.mark.parametrize("name", ["lustre", "gpfs", "beegfs"])
def test_hand_overs_of_calls_that_are_taken_together_take_as_long(
    tmp_path: Path, method: str, name: str
) -> None:
    """Rows of 64 ranks on nodes of their own lie in each other's blocks and stripes."""
    (tmp_path / "small.toml").write_text(WORKLOAD)
    changes = {"grid": [256, 256, 8], "steps": 4}
    workload = loader.sized(loader.load(str(tmp_path / "small.toml")), None, changes, "")
    described = description.described(workload, 64, 1, (method, "posix"), 0.0, {})
    each, together = (
        engine.simulate(described, named(name).parameters(), **NETWORK, calls_at_most=calls)
        for calls in (100_000_000, 200)
    )
    assert each["together"] == 1 and together["together"] > 500
    assert together["runtime_ns"] == pytest.approx(each["runtime_ns"], rel=0.1)


@pytest.mark.parametrize("method", ["serial", "file-per-rank"])
@pytest.mark.parametrize(
    ("changes", "beside"),
    [
        ({"write": "1e18"}, ""),
        ({"write_rate": "1e-18"}, ""),
        ({}, "[network]\ninside_latency_s = 1e18\ninside_bytes_per_s = 1e-18"),
    ],
)
def test_what_takes_for_ever_takes_no_less_than_nothing(
    tmp_path: Path, method: str, changes: dict[str, str], beside: str
) -> None:
    """36 years, and not what is left of more nanoseconds than a number holds."""
    found = prediction(tmp_path, f"{toml(**changes)}\n{beside}", "--ranks", 4, "--method", method)
    assert found["predicted_s"] == pytest.approx((1 << 60) / 1e9)
