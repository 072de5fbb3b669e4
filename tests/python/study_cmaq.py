"""A study as the CMAQ document describes it, simulated, and its report as text."""

from __future__ import annotations

import io
from functools import cache

from rich.console import Console

from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary
from tailrace.study.report import text as report_text

from .study_data import study

CMAQ = {
    "ranks": [1, 2, 4, 8],
    "target": ["local", "remote"],
    "read_target": ["local", "remote"],
    "size": ["s", "l"],
}


def cmaq_time(where) -> float:
    """As the document says: written remotely, time rises beyond 2 (small) or 4 (large) ranks; reads
    do not matter."""
    large, remote, ranks = where["size"] == "l", where["target"] == "remote", where["ranks"]
    compute = (60 if large else 12) / ranks
    return compute + (3 * ranks**1.2 if large else 2.2 * ranks) * remote + 2


def cmaq(expect=(), seed: int = 1, **options) -> Measured:
    others = {
        "system_s": lambda where, elapsed: (
            0.5 + 0.1 * where["ranks"] * (where["target"] == "remote") + 0.001 * elapsed
        ),
        "create_s": lambda where, elapsed: 0.2 * elapsed,
        "efficiency_io": lambda where, elapsed: 0.9 / where["ranks"] ** 0.3,
        "bytes_written": lambda where, elapsed: 10**9,
        "write_rate_mb_per_s": lambda where, elapsed: 1000 / elapsed,
    }
    return study(CMAQ, cmaq_time, expect=expect, seed=seed, others=others, **options)


def recording(width: int = 110) -> Console:
    return Console(
        width=width, markup=False, highlight=False, emoji=False, record=True, file=io.StringIO()
    )


def printed(measured: Measured, width: int = 110) -> str:
    out = recording(width)
    report_text.print_study(Summary(measured), out)
    return out.export_text()


@cache
def typical() -> Summary:
    """Of the study as it is, computed once."""
    return Summary(cmaq())
