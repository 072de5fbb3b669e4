"""The tables of `tailrace bench`, of steps of any length."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from tailrace.bench.records import PHASES
from tailrace.bench.step_tables import print_steps, print_summary

MINUTES_S = 12345.678


def slow_stream(steps: int) -> dict[str, Any]:
    """Every phase takes hours, as it may where the file system hangs."""
    spread = {"min": MINUTES_S, "mean": MINUTES_S, "max": MINUTES_S, "rank_of_max": 1234}
    phases = {f"{phase}_s": spread for phase in PHASES}
    step = phases | {"step_s": spread, "bytes": 1_234_567_890}
    return {
        "stream": "ocean_his",
        "direction": "write",
        "method": "serial",
        "format": "posix",
        "bytes": steps * step["bytes"],
        "steps": [step | {"step": number} for number in range(steps)],
        "total": phases,
        "rates": {},
    }


def printed(show: Any, *arguments: Any) -> list[str]:
    out = Console(width=110, file=io.StringIO())
    show(out, *arguments)
    return out.file.getvalue().splitlines()


def test_every_step_stays_one_line():
    lines = printed(print_steps, slow_stream(3), "")
    assert [line.split()[0] for line in lines[2:]] == ["step", "0", "1", "2"]
    assert all(line.count("@1234") == len(PHASES) for line in lines[3:])


def test_every_file_stays_one_line():
    lines = printed(print_summary, [slow_stream(2), slow_stream(3)], "")
    assert [line.split()[:3] for line in lines[3:]] == [
        ["ocean_his", "write", "2"],
        ["ocean_his", "write", "3"],
    ]
