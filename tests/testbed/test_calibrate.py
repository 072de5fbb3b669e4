"""`tailrace calibrate` by several nodes of the test bed, whose links' rates are known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailrace.predict.model import load
from tests.conftest import find_mpi
from tests.processes import LONGEST_WAIT_S
from tests.python.bench_runs import CACHE
from tests.testbed.bed import Testbed
from tests.testbed.conftest import require
from tests.testbed.test_cluster import entering

pytestmark = [pytest.mark.slow, pytest.mark.measured("rates of links")]

NODE_BYTES_PER_S, SERVER_BYTES_PER_S = 40e6 / 8, 80e6 / 8
# Of 1,514 bytes of a frame on Ethernet TCP has 1,448 for the program.
PAYLOAD = 1448 / 1514
# Both ends look all the time: on a quick machine 8 bytes take less than 10 µs by TCP.
LEAST_LATENCY_S = 1e-6


@pytest.mark.whole
def test_four_nodes_find_their_links(testbed: Testbed, tmp_path: Path) -> None:
    """Each node's link has 40 Mb/s, the server's 80: two nodes fill it."""
    require("cluster")
    require("nfs")
    bed = testbed.up("cluster", "--nodes", "4", "--rate", "40mbit")
    target = Path(testbed.up("nfs", "--rate", "80mbit")["mounts"][0]) / "target"
    target.mkdir()
    ssh = f"-launcher ssh -launcher-exec {bed['ssh']} -iface eth0"
    mpiexec = f"{find_mpi('mpich').mpiexec} {ssh} -hosts {','.join(bed['hosts'])} -ppn 2"
    model = tmp_path / "model.toml"
    words = [sys.executable, "-m", "tailrace", "calibrate", target, "--ranks", "8", "--mpiexec"]
    done = subprocess.run(
        entering(testbed, "node1", *words, mpiexec, "-o", model, "--budget", "60s", "--json"),
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT_S,
        env={**os.environ, "TAILRACE_CACHE": str(CACHE)},
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["several"]["ranks"], answer["several"]["nodes"]) == (8, 4)
    assert not any(target.iterdir())
    found = load(model)
    assert found.network and found.network.bytes_per_s and found.network.node_bytes_per_s
    link = pytest.approx(NODE_BYTES_PER_S * PAYLOAD, rel=0.1)
    assert found.network.bytes_per_s.value == link
    assert found.network.node_bytes_per_s.value == link
    assert found.client and found.client.bytes_per_s.value == link
    for rate in (found.bytes_per_s.write, found.bytes_per_s.read):
        assert rate.value == pytest.approx(SERVER_BYTES_PER_S * PAYLOAD, rel=0.1)
    assert found.network.latency_s and LEAST_LATENCY_S < found.network.latency_s.value < 1e-3
    assert answer["several"]["files"]["median_error"] < 0.25
