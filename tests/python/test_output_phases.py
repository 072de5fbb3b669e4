"""Phases of output: of the routine that writes, where its entries are known; by tables made here.
That the engine's table is right is tested beside it, and with programs in
tests/verdict/test_routines.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tailrace.library import Run
from tailrace.page import render
from tailrace.verdict.as_json import report
from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge

from .columns import MILLISECOND
from .test_routines import MB, Model, Routine

# Of 8 outputs, all of which dump writes.
SIZE = 10 * MB


def columns(phases: list[tuple[str, int, int]], size: int = SIZE) -> dict[str, Any]:
    """A run of 10 s on two ranks that writes 80 MB from dump; `phases`: the routine, begin and end
    in ms, 50 ms of file calls and `size` bytes in each."""
    model = Model([Routine("dump", 3000, 1900)], [(["dump"], 8 * SIZE)])
    names = [row.name for row in model.routines] + ["main"]
    table = {
        "routine": [names.index(name) for name, _, _ in phases],
        "begin_ns": [begin * MILLISECOND for _, begin, _ in phases],
        "end_ns": [end * MILLISECOND for _, _, end in phases],
        "ranks": [2] * len(phases),
        "io_ns": [50 * MILLISECOND] * len(phases),
        "bytes_read": [0] * len(phases),
        "bytes_written": [size] * len(phases),
    }
    arrays = {key: np.asarray(values, dtype=np.int64) for key, values in table.items()}
    return model.all_columns() | {"routine_phases": arrays}


def outputs(of: dict[str, Any]) -> Finding | None:
    return next((f for f in judge(Evidence(of)).findings if f.code == "outputs"), None)


EACH = [("dump", 1000 + 1100 * i, 1400 + 1100 * i) for i in range(8)]


def test_an_output_is_the_stretch_of_its_routine():
    """8 stretches of 400 ms, one every 1.1 s; of 2 × 400 ms on two ranks 50 ms are file calls:
    6.25 %. 10 MB in 400 ms are 25 MB/s. Four of them take 1.5 s beside file calls, and 100 ms in
    these, of which an ideal file system would save 50 ms: no other finding says more."""
    found = outputs(columns(EACH))
    assert found is not None
    assert found.finding == "8 outputs of 10.0 MB, one every 1.10 s; each takes 400 ms in dump"
    assert "its ranks are in file calls for 6.2 % of that" in found.evidence
    assert found.evidence.endswith("an output is written at 25.0 MB/s")
    assert found.gain == (
        "writing every other one would save at most 1.55 s: 50.0 ms in file calls and 1.50 s in "
        "what else dump does"
    )
    assert found.share_of_runtime == 0.32
    assert report(columns(EACH))["output_phases"][1] == {
        "routine": "dump",
        "begin_s": 2.1,
        "end_s": 2.5,
        "io_s": 0.05,
        "ranks": 2,
        "bytes_read": 0,
        "bytes_written": SIZE,
    }


def test_what_a_routine_does_in_file_calls_alone_is_no_longer_than_these():
    """800 ms of file calls on the two ranks each time: nothing but these. Eight outputs of which
    half were left out cannot save more than all file calls would."""
    of = columns(EACH)
    of["routine_phases"]["io_ns"] = np.full(8, 800 * MILLISECOND)
    found = outputs(of)
    ideal_s = Evidence(of).losses.io_ns / 1e9
    assert ideal_s < 1.6 and found.gain_s == pytest.approx(ideal_s)
    assert found.gain == "writing every other one would save at most 50.0 ms"


def test_in_python_they_are_a_data_frame():
    table = Run(columns(EACH), Path("model.tailrace")).output_phases
    assert table["begin_s"].tolist() == pytest.approx([1 + 1.1 * i for i in range(8)])
    assert set(table["routine"]) == {"dump"}
    assert Run(columns([]), Path("model.tailrace")).output_phases.empty


def test_of_a_routine_that_writes_no_output_there_are_no_phases():
    of_main = [("main", 0, 10_000)]
    assert outputs(columns(of_main)) is None
    assert report(columns(of_main))["output_phases"] == []


def test_where_a_routine_s_stretches_hold_less_than_is_written_files_alone_say_what_is_known():
    """One stretch of all file calls is no three outputs."""
    assert outputs(columns(EACH, size=SIZE // 2)) is None


def test_stretches_that_are_not_alike_are_no_outputs():
    assert outputs(columns([*EACH[:7], ("dump", 9900, 9990)])) is None


def test_the_page_lists_the_phases_of_a_routine_and_what_is_file_calls_of_the_others():
    text = re.sub(r"\s+", " ", render([columns(EACH)], ["model.tailrace"]))
    section = text[text.index("<h2>Output phases</h2>") : text.index("<h2>I/O phases</h2>")]
    assert section.count('<code title="dump">dump</code>') == 8
    assert '<td class="number" data-value="0.05">50.0 ms</td>' in section
    without = render([columns([])], ["model.tailrace"])
    assert "<h2>Output phases</h2>" not in without
    assert "in file calls</th>" in without
