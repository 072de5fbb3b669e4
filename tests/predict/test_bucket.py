"""Token buckets are found by what writes take after a pause, and nothing else is taken for one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tailrace.calibration.bucket import bucket
from tailrace.calibration.experiments import AFTER_A_PAUSE
from tailrace.calibration.probe import KIB, MIB, SMALL, Samples

RATE = 10e6
AT_ONCE = 1e15


def rounds(taken: Callable[[int], float]) -> list[Samples]:
    """A write takes 2 ms to arrive, its bytes `taken`, s, and each round is a little slower."""
    sizes = (SMALL, *AFTER_A_PAUSE)
    return [
        {f"after_pause_{size}": (0.002 + taken(size)) * slower for size in sizes}
        for slower in (1.0, 1.01, 1.02)
    ]


def test_what_goes_at_once_is_what_the_bucket_holds() -> None:
    """Of 256 KiB 192 take their time: 19.7 ms, and 2 to arrive. In the slowest round that is 2 %
    more, as if 3.8 KiB less had gone at once."""
    found = bucket(rounds(lambda size: max(size - 64 * KIB, 0) / RATE), RATE, AT_ONCE)
    assert found is not None
    assert 60 * KIB < found.low < found.value < found.high <= 64 * KIB
    assert found.value == pytest.approx(62 * KIB, abs=KIB)


@pytest.mark.parametrize(
    "taken",
    [
        lambda size: size / RATE,
        # a page cache: what takes time are calls
        lambda size: 0.0,
        # larger writes are faster
        lambda size: size / (RATE if size < MIB else 4 * RATE),
        lambda size: size / (2 * RATE),
    ],
    ids=["a link", "a cache", "large ones are faster", "all are faster"],
)
def test_what_is_no_bucket(taken: Callable[[int], float]) -> None:
    assert bucket(rounds(taken), RATE, AT_ONCE) is None
