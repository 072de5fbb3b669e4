"""Studies in which each file system and each method has days of its own: what is alike in all
blocks by chance is taken for no effect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .simulated_curves import found_in
from .simulated_further import FURTHER

DAYS = FURTHER["days by target and method"]


@pytest.mark.parametrize("seed", [10, 12, 24])
def test_what_happens_to_be_alike_on_all_days_is_no_effect(seed: int) -> None:
    """Two factors and their interaction, each with its own chance of that: one or the other was
    said to matter in 8 of 100 studies of four blocks, and in 11 of three."""
    assert not DAYS.false(seed)


def test_what_is_more_than_any_day_is_found() -> None:
    slow = replace(DAYS, time_s=lambda w: 25.0 if w["target"] == "b" else 10.0)
    for seed in range(3):
        texts = [finding.text for finding in found_in(slow.measured(seed)).findings]
        assert any(text.startswith("writing to b takes 2.") for text in texts)
