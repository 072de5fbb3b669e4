"""Whether a client fetches pages that it wrote in parts, and what that costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace import engine
from tailrace.calibration.fit import fetches_unfilled
from tailrace.predict.model import load

from .test_model import toml, written

MICROSECOND = 1e-6


@pytest.mark.parametrize(
    ("own", "fetches"),
    [
        # of 1 µs from memory and 400 from the servers, 20 are half-way as factors go
        (1.5, False),
        (19, False),
        (21, True),
        (200, True),
    ],
)
def test_it_does_where_reading_them_is_more_like_a_read_from_the_servers(
    own: float, fetches: bool
) -> None:
    taken = {"own_unfilled": own, "cached_read": 1, "read_call": 400}
    rounds = [{name: value * MICROSECOND for name, value in taken.items()}] * 3
    assert fetches_unfilled(rounds) is fetches


def test_the_page_between_two_writes_is_read_from_the_servers(tmp_path: Path) -> None:
    """A read takes 1 ms from there, and nothing from memory. Two writes of a page and a half: the
    first block read asks for the second page, which the second block then has."""
    content = toml(read="1e-3", rereads='"while_open"')
    block = 6144
    calls = [
        *(("write", 0, place, block) for place in (0, block)),
        *(("read", 0, place, block) for place in (0, block)),
    ]
    taken = {}
    for whole in ("true", "false"):
        model = load(written(tmp_path, f"{content}\nwhole_pages = {whole}"))
        taken[whole] = engine.model_times(model.parameters(), calls)[2:]
    assert taken == {"true": [1_000_000, 0], "false": [0, 0]}
