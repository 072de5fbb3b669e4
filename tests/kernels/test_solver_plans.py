"""The solver by a plan: the fields it derives, what it reads, averages, restarts, and how it
refuses."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.history import (
    COURANT_X,
    COURANT_Y,
    DIFFUSION_HORIZONTAL,
    DIFFUSION_VERTICAL,
    History,
)
from tests.kernels.programs import fingerprint, good_run, run_plan

GRID = (13, 11, 3)
WORK, RATE, EMISSION = 2, 0.01, 1e-3  # kernels/solver/reactions.h

INPUTS = """
    input meteorology
    path {directory}/meteorology
    every 2
    variable spherical type=character shape=none source=switch:true when=once role=logical
    variable uwind source=forcing:1 role=wind_x type=float32
    variable vwind source=forcing:2 role=wind_y shape=z,y+1,x
    variable temperature source=forcing:3 role=temperature shape=y,x
    variable nox source=forcing:4 role=emission:2 shape=y,x
"""
MODEL = f"""
    grid 13x11x3
    steps 6
    step_s 1800
    tracers 4
    work {WORK}
"""
OUTPUTS = """
    output history
    path {directory}/history
    method collective
    every 1
    initial yes
    variable spherical type=int32 shape=none source=switch:true when=once
    variable LtracerSrc type=character shape=tracer=4 source=switch:true when=once
    variable s_rho shape=z source=level when=once
    variable s_w shape=z+1 source=level when=once
    variable mask type=int32 shape=y,x source=place:4 when=once
    variable lat shape=y,x+1 source=place:1
    variable dt shape=none type=float32 source=number:2.5 units=seconds
    variable ocean_time shape=none source=time units=seconds
    variable step shape=none type=int32 source=step
    variable Times shape=DateStrLen=19 type=character source=date
    variable chem shape=species=4,z,y,x source=tracer:1 dimensions=species,s_rho,eta_rho,xi_rho
    variable some source=derived:9
    variable single type=float32 source=derived:9
    variable soil shape=soil=2,y,x source=derived:6
    variable u shape=z,y,x+1 source=derived:2
    variable v shape=z,y+1,x source=derived:3
    variable w shape=z+1,y,x source=derived:4
    variable zeta shape=y,x source=column:5
    output averages
    path {directory}/averages
    every 3
    values average
    variable mean source=tracer:2
    variable mean_single source=derived:8 type=float32
"""


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def prepared(one_solver, tmp_path_factory) -> Path:
    """The inputs, and the history and averages of two ranks."""
    directory = tmp_path_factory.mktemp("plans")
    good_run(one_solver, "solver", 3, "task prepare" + MODEL + INPUTS, directory)
    good_run(one_solver, "solver", 2, MODEL + OUTPUTS + INPUTS, directory)
    return directory


@pytest.mark.parametrize("ranks", [1, 3, pytest.param(4, marks=pytest.mark.whole), 6])
def test_fields_do_not_depend_on_the_number_of_ranks(one_solver, prepared, tmp_path, ranks):
    shutil.copy(prepared / "meteorology", tmp_path)
    good_run(one_solver, "solver", ranks, MODEL + OUTPUTS + INPUTS, tmp_path)
    for name in ("history", "averages"):
        assert digest(tmp_path / name) == digest(prepared / name)


def test_fingerprints_are_those_of_the_file(one_solver, prepared, tmp_path):
    shutil.copy(prepared / "meteorology", tmp_path)
    run = good_run(one_solver, "solver", 4, MODEL + OUTPUTS + INPUTS, tmp_path)
    seen = 0
    for record in run.of("fingerprint"):
        file = History(Path(record["path"]))
        assert set(record["values"]) >= {name for name, v in file.variables.items() if v.every_step}
        for name, value in record["values"].items():
            assert value == fingerprint(file.read(name, record["step_in_file"])), (
                record["stream"],
                name,
            )
            seen += 1
    # once and at every step of history, averages; inputs
    assert seen == 5 + 7 * 13 + 2 * 2 + 1 + 3 * 4


def test_the_state_follows_the_equations(prepared):
    """Upwind advection scaled by the winds, diffusion, reactions and emissions, in numpy: the very
    same numbers."""
    history, meteorology = History(prepared / "history"), History(prepared / "meteorology")
    assert (history.steps, meteorology.steps) == (7, 3)
    for step in range(6):
        expected = one_step(history.read("chem", step), meteorology, step // 2)
        np.testing.assert_array_equal(history.read("chem", step + 1), expected)


def one_step(c: np.ndarray, meteorology: History, step: int) -> np.ndarray:
    """kernels/solver/transport.h and reactions.h; axes: tracer, z, y, x."""
    wind_x = 1 / 1.5 * meteorology.read("uwind", step).astype(float)
    wind_y = (1 / 1.5 * meteorology.read("vwind", step))[:, :-1]
    west, east = np.roll(c, 1, 3), np.roll(c, -1, 3)
    south, north = np.roll(c, 1, 2), np.roll(c, -1, 2)
    below, above = (
        np.concatenate([c[:, :1], c[:, :-1]], 1),
        np.concatenate([c[:, 1:], c[:, -1:]], 1),
    )
    c = (
        c
        - COURANT_X * wind_x * (c - west)
        - COURANT_Y * wind_y * (c - south)
        + DIFFUSION_HORIZONTAL * (east + west + north + south - 4 * c)
        + DIFFUSION_VERTICAL * (below + above - 2 * c)
    )
    rate = RATE * meteorology.read("temperature", step)
    for _ in range(WORK):
        for k in range(4):
            turned = rate * c[k] * c[(k + 1) % 4] / (1 + c[k] + c[(k + 1) % 4])
            c[k] -= turned
            c[(k + 1) % 4] += turned
    c[1, 0] += EMISSION * meteorology.read("nox", step)
    return c


def test_derived_fields_are_their_formulas(prepared):
    history = History(prepared / "history")
    for step in (0, 6):
        c = history.read("chem", step)
        layers = [derived(c, 5)[z] for z in range(3)]
        west = np.roll(c, 1, 3)
        south = np.roll(c, 1, 2)
        between = 0.5 * (c[:, :-1] + c[:, 1:])
        expected = {
            "some": derived(c, 9),
            "single": derived(c, 9).astype(np.float32),
            "soil": np.stack([derived(c, 6)[0], derived(c, 7)[0]]),
            "zeta": (layers[0] + layers[1] + layers[2]) / 3,
            "u": derived(_with_far_side(0.5 * (west + c), 3), 2),
            "v": derived(_with_far_side(0.5 * (south + c), 2), 3),
            "w": derived(np.concatenate([c[:, :1], between, c[:, -1:]], 1), 4),
        }
        for name, values in expected.items():
            np.testing.assert_array_equal(history.read(name, step), values, err_msg=name)


def _with_far_side(values: np.ndarray, axis: int) -> np.ndarray:
    """The grid is periodic: the point beyond the last cell is the one before the first."""
    return np.concatenate([values, values.take([0], axis)], axis)


def derived(c: np.ndarray, k: int) -> np.ndarray:
    """kernels/solver/sources.h."""
    a, b = c[(k - 1) % 4], c[3 * k % 4]
    s, q = 1 + k % 7, 0.125 * (k % 5)
    return s * (a * a + q * b) / (1 + q * a * b) + np.sqrt(b * b + q) + k / 512


def test_what_is_not_tiled(prepared):
    history = History(prepared / "history")
    assert history.read("spherical") == 1
    assert history.read("LtracerSrc").tobytes() == b"TFTF"
    np.testing.assert_array_equal(history.read("s_rho"), (np.arange(3) + 0.5) / 3)
    np.testing.assert_array_equal(history.read("s_w"), np.arange(4) / 3)
    assert history.read("dt", 3) == np.float32(2.5)
    assert [int(history.read("step", n)) for n in range(7)] == list(range(7))
    assert [float(history.read("ocean_time", n)) for n in range(7)] == [
        1800.0 * n for n in range(7)
    ]
    assert history.read("Times", 3).tobytes() == b"2000-01-01_01:30:00"
    y, x = np.ogrid[:11, :13]
    place = 1 + 4 % 5 + 0.5 * np.sin(2 * np.pi * (2 * x / 13 + 1 * y / 11))
    np.testing.assert_array_equal(history.read("mask"), place.astype(np.int32))


def test_averages_are_the_means_of_the_steps(prepared):
    history, averages = History(prepared / "history"), History(prepared / "averages")
    assert averages.steps == 2
    for output, steps in enumerate([(1, 2, 3), (4, 5, 6)]):
        tracer = sum(history.read("chem", n)[1] for n in steps) / 3
        np.testing.assert_allclose(averages.read("mean", output), tracer, rtol=1e-15)
        single = sum(derived(history.read("chem", n), 8) for n in steps) / 3
        np.testing.assert_allclose(averages.read("mean_single", output), single, rtol=1e-7)


RESTART = """
    output history
    path {directory}/second
    every 1
    variable step shape=none type=int32 source=step
    variable chem shape=species=4,z,y,x source=tracer:1
    output averages
    path {directory}/second-averages
    every 3
    values average
    variable mean source=tracer:2
"""


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_continued_run_goes_on_bit_for_bit(one_solver, prepared, tmp_path, ranks):
    """Three steps, then three more from the file: as six at once. Inputs and averages go on as
    well."""
    shutil.copy(prepared / "meteorology", tmp_path)
    first = MODEL.replace("steps 6", "steps 3") + OUTPUTS + INPUTS
    good_run(one_solver, "solver", 2, first, tmp_path)
    come_back = (
        "\nrestart\npath {directory}/history\nvariable chem shape=species=4,z,y,x source=tracer:1\n"
    )
    run = good_run(
        one_solver,
        "solver",
        ranks,
        MODEL.replace("steps 6", "steps 3") + come_back + RESTART + INPUTS,
        tmp_path,
    )
    whole, second = History(prepared / "history"), History(tmp_path / "second")
    assert second.steps == 3
    for n in range(3):
        assert second.read("step", n) == 4 + n
        np.testing.assert_array_equal(second.read("chem", n), whole.read("chem", 4 + n))
    means = (
        History(tmp_path / "second-averages").read("mean"),
        History(prepared / "averages").read("mean", 1),
    )
    np.testing.assert_array_equal(*means)
    assert [record["model_step"] for record in run.of("step", stream="restart")] == [3]


def test_a_restart_in_the_middle_of_an_average_is_refused(one_solver, prepared, tmp_path):
    shutil.copy(prepared / "meteorology", tmp_path)
    good_run(
        one_solver, "solver", 1, MODEL.replace("steps 6", "steps 2") + OUTPUTS + INPUTS, tmp_path
    )
    come_back = (
        "\nrestart\npath {directory}/history\nvariable chem shape=species=4,z,y,x source=tracer:1\n"
    )
    run = run_plan(one_solver, "solver", 2, MODEL + come_back + RESTART, tmp_path)
    assert run.status == 2
    assert (
        "starts from step 2, in the middle of an average of 'averages' over 3 steps" in run.stderr
    )


@pytest.mark.parametrize(
    ("stored", "asked"), [("character", "int32"), ("int32", "character"), ("int32", "int32")]
)
@pytest.mark.parametrize("value", ["true", "false"])
def test_a_logical_is_read_whichever_way_it_is_stored(one_solver, tmp_path, stored, asked, value):
    plan = "grid 5x5x1\nsteps 1\ninput grid\npath {{directory}}/grid\nevery 1\n"
    plan += "variable spherical type={} shape=none"
    plan += f" source=switch:{value} when=once role=logical"
    good_run(one_solver, "solver", 1, "task prepare\n" + plan.format(stored), tmp_path)
    if stored == "character":
        assert History(tmp_path / "grid").read("spherical").tobytes() == (
            b"T" if value == "true" else b"F"
        )
    run = good_run(one_solver, "solver", 2, plan.format(asked), tmp_path)
    (logical,) = run.of("logical")
    assert (logical["value"], logical["stored_as"]) == (value == "true", stored)
    other = "false" if value == "true" else "true"
    wrong = run_plan(one_solver, "solver", 2, plan.format(asked).replace(value, other), tmp_path)
    assert wrong.status == 1
    assert "does not hold in 'spherical' what the plan says" in wrong.stderr


def test_an_input_with_one_changed_byte_is_noticed(one_solver, prepared, tmp_path):
    contents = bytearray((prepared / "meteorology").read_bytes())
    contents[-5] ^= 1
    (tmp_path / "meteorology").write_bytes(contents)
    run = run_plan(one_solver, "solver", 3, MODEL + OUTPUTS + INPUTS, tmp_path)
    assert run.status == 1
    assert re.search(
        r"does not hold in 'nox' what the plan says, at its step 2\n\nhint: ", run.stderr
    )
    assert run.records[-1]["status"] == 1
    assert not (tmp_path / "history").exists()
    assert (tmp_path / "history.partial").exists()
    # written once, but not brought to the disk
    assert History(tmp_path / "averages.partial").steps == 0


FAULTS = ["lose_element=3", "swap_elements=3", "zero_element=3"]


@pytest.mark.parametrize("fault", FAULTS)
def test_reading_back_notices_a_planted_fault(one_solver, tmp_path, fault):
    plan = """
        grid 7x6x2
        steps 2
        output history
        path {directory}/history
        every 1
        read_back yes
        format dummy
        setting fault_step=1
        setting FAULT
        variable tracer source=tracer:1
    """
    good_run(one_solver, "solver", 2, plan.replace("setting FAULT\n", ""), tmp_path)
    run = run_plan(one_solver, "solver", 2, plan.replace("FAULT", fault), tmp_path)
    assert run.status == 1
    assert "differs from what was written" in run.stderr
    assert [record["ok"] for record in run.of("check")] == [False]


def test_a_row_of_files_and_step_records(one_solver, tmp_path):
    plan = """
        grid 9x8x2
        steps 5
        output out
        path {directory}/out.grid
        every 1
        steps_per_file 2
        sync yes
        variable mask shape=y,x source=place:1 when=once
        variable tracer source=tracer:1
    """
    run = good_run(one_solver, "solver", 3, plan, tmp_path)
    names = ["out-000000.grid", "out-000002.grid", "out-000004.grid"]
    assert sorted(path.name for path in tmp_path.glob("out*")) == names
    steps = run.of("step", stream="out")
    assert [Path(record["path"]).name for record in steps] == [names[n // 2] for n in range(5)]
    assert [record["step_in_file"] for record in steps] == [0, 1, 0, 1, 0]
    layer, tracer = 9 * 8 * 8, 9 * 8 * 2 * 8
    assert [record["bytes"] for record in steps] == [
        tracer + layer * (n % 2 == 0) for n in range(5)
    ]
    assert run.of("stream")[0]["bytes"] == 5 * tracer + 3 * layer
    for n, record in enumerate(steps):
        assert all(
            len(record[key]) == 3 for key in record if key.endswith("_s") and key != "begin_s"
        )
        assert (min(record["open_s"]) > 0) == (n % 2 == 0)
        assert (min(record["close_s"]) > 0) == (n in (1, 3, 4))
        assert min(record["sync_s"]) > 0
    assert [record["rank"] for record in run.of("rank")] == [0, 1, 2]
    assert all(1 << 20 < record["maximum_resident_bytes"] < 1 << 30 for record in run.of("rank"))


@pytest.mark.measured("how long each rank took")
@pytest.mark.parametrize(
    ("phase", "key"),
    [("write_s=0.05", "write_s"), ("sync_s=0.05", "sync_s"), ("close_s=0.05", "close_s")],
)
def test_a_delay_is_found_in_the_phase_and_at_the_rank_that_has_it(
    one_solver, tmp_path, phase, key
):
    plan = f"""
        grid 9x8x2
        steps 1
        output out
        path {{directory}}/out
        every 1
        sync yes
        method independent
        format dummy
        setting {phase}
        setting delayed_rank=1
        variable tracer source=tracer:1
    """
    run = good_run(one_solver, "solver", 3, plan, tmp_path)
    (step,) = run.of("step")
    assert 0.05 <= step[key][1] < 1
    if key == "write_s":  # the others do not wait for it
        assert max(step[key][0], step[key][2]) < 0.05
