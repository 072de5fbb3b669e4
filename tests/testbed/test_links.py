"""The links: that the rate is in force, by the clock."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.testbed.bed import Testbed
from tests.testbed.conftest import require

pytestmark = [pytest.mark.slow, pytest.mark.measured("the rate of a link")]

SIZE = 24_000_000


def write_rate(path: Path) -> float:
    """Bit/s of what programs wrote, until the server has it."""
    data = os.urandom(1_000_000)
    begun = time.monotonic()
    with path.open("wb", buffering=0) as file:
        for _ in range(SIZE // len(data)):
            file.write(data)
        os.fsync(file.fileno())
    return 8 * SIZE / (time.monotonic() - begun)


def read_rate(path: Path) -> float:
    begun = time.monotonic()
    with path.open("rb", buffering=0) as file:
        while file.read(1_000_000):
            pass
    return 8 * SIZE / (time.monotonic() - begun)


@pytest.mark.parametrize("name", ["nfs", pytest.param("single", marks=pytest.mark.whole)])
def test_one_link_carries_its_rate_and_no_more(testbed: Testbed, name: str) -> None:
    """A bucket lets a little through at once, so that the bound has 3 % to spare; read by a mount
    that has no pages."""
    require(name)
    for rate in (50, 100):
        bed = testbed.up(name, "--mounts", "2", "--rate", f"{rate}mbit")
        assert bed["rate_bit_per_s"] == rate * 10**6
        here, there = map(Path, bed["mounts"])
        for measured in (write_rate(here / f"file{rate}"), read_rate(there / f"file{rate}")):
            assert 0.7 * rate * 10**6 < measured < 1.03 * rate * 10**6


@pytest.mark.whole
def test_four_links_carry_more_than_one(testbed: Testbed) -> None:
    """Three parts of four are data, so that three times the rate of a link is the most."""
    require("striped")
    bed = testbed.up("striped", "--mounts", "2", "--rate", "50mbit")
    here, there = map(Path, bed["mounts"])
    for measured in (write_rate(here / "file"), read_rate(there / "file")):
        assert 1.8 * 50e6 < measured < 3.1 * 50e6


@pytest.mark.whole
def test_links_that_are_not_shaped(testbed: Testbed) -> None:
    require("nfs")
    bed = testbed.up("nfs", "--rate", "20mbit")
    slow = write_rate(Path(bed["mounts"][0]) / "slow")
    assert slow < 1.03 * 20e6
    assert testbed.up("nfs", "--rate", "none")["rate_bit_per_s"] is None
    assert write_rate(Path(bed["mounts"][0]) / "fast") > 4 * slow


@pytest.mark.parametrize("name", ["nfs", pytest.param("striped", marks=pytest.mark.whole)])
def test_a_question_waits_for_the_way_to_the_server(testbed: Testbed, name: str) -> None:
    """Names that nobody knows: one round trip each at least, of 10 ms. The rate stays that of the
    link."""
    require(name)
    bed = testbed.up(name, "--latency", "10ms", "--rate", "100mbit")
    mount = Path(bed["mounts"][0])
    begun = time.monotonic()
    assert not any((mount / f"absent{number}").exists() for number in range(20))
    assert (time.monotonic() - begun) / 20 > 10e-3
    assert 0.5 * 100e6 < write_rate(mount / "file") < 3.1 * 100e6
    testbed.down()
    assert testbed.nothing_is_left()


def test_every_end_is_shaped(testbed: Testbed) -> None:
    """A link whose one end somebody has reshaped is told, not reported as if nothing were."""
    require("single")
    testbed.up("single", "--rate", "100mbit")
    holder = (testbed.directory / "single" / "cells" / "server1").read_text().split()[0]
    inside = ["nsenter", "--target", holder, "--net", "--"]
    subprocess.run([*inside, "tc", "qdisc", "delete", "dev", "eth0", "root"], check=True)
    state = testbed.status("single")
    assert (state["state"], state["reason"]) == ("broken", "its links are not all shaped alike")
