"""What capture says that it took is what it took, where it took it."""

from __future__ import annotations

import pytest

# What is asked for is the right size: the rare and long, such as a call path that is unwound, is in
# what capture says, and not in the median of the calls.
RIGHT_SIZE = (0.5, 3)


@pytest.mark.measured("what capture adds to a call")
@pytest.mark.parametrize("swept", [0, 1 << 20])
def test_cost_is_that_of_the_place(swept, program, capture):
    """Where the program has filled the caches with its own data, a record takes longer."""
    done = capture(program("cost"), swept, 10_000)
    header = done.stream.header
    own_ns = header["own_ticks"] / header["ticks_per_s"] * 1e9 / len(done.stream.calls)
    added_ns = float(done.stdout)
    assert RIGHT_SIZE[0] * added_ns < own_ns < RIGHT_SIZE[1] * added_ns


def test_cost_is_known_of_a_program_that_was_killed_or_made_few_calls(program, capture):
    for words in (("exit", 1), ("kill", 300)):
        header = capture(program("life"), *words).streams[0].header
        assert 0 < header["own_ticks"] < header["ticks_per_s"]
