"""The ideal run times a second time: a plain replay of the table of calls (`Run.calls`), written
from docs/reference/report.md and replay.md, which shares nothing with the engine.

`calls.py` says what each call is, `opaque.py` and `local.py` what time a rank spends by itself,
`messages.py`, `windows.py` and `meetings.py` who meets whom, and `replay.py` goes through all in
order of measured time. What is not among the names of `calls.py` is not known here.
"""

from __future__ import annotations

from pathlib import Path

import tailrace
from tests.golden.oracle.calls import Recorded
from tests.golden.oracle.local import Clocks
from tests.golden.oracle.replay import Replay

EAGER_LIMIT = 32 * 1024


def ideal_times(trace: Path) -> Clocks | None:
    """T_net, T_even and T_ideal in nanoseconds; None of a program that does more than is known
    here."""
    recorded = Recorded(tailrace.open(trace))
    return Replay(recorded, EAGER_LIMIT).run() if recorded.is_known() else None
