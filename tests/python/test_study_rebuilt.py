"""Programs that were built again between runs, and levels that only name programs."""

from __future__ import annotations

import pandas as pd

from tailrace.study.analysis.cautions import Caution, rebuilt


def _built(marks: list[str], kinds: list[str]) -> Caution | None:
    runs = pd.DataFrame({"run": range(len(marks)), "kind": kinds, "size": [1, 1, 2, 2] * 2})
    return rebuilt(runs.assign(program=marks), ["kind", "size"])


def test_a_level_that_names_a_program_is_no_program_that_was_built_again() -> None:
    kinds = ["plain", "sync"] * 4
    assert _built(["a", "b"] * 4, kinds) is None
    # with both, which is a combination's own in both blocks
    assert _built(["a", "b", "c", "d"] * 2, kinds) is None
    # halfway
    found = _built(["a"] * 4 + ["b"] * 4, kinds)
    assert found is not None and found.runs == (4, 5, 6, 7)
    found = _built(["a"] * 7 + ["b"], kinds)
    assert found is not None and found.runs == (7,)
