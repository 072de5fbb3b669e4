"""What only many nodes, or one of many servers, show: that none has to ask for another's address,
and that `up` waits until every client reaches every server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.processes import until
from tests.testbed.bed import Testbed
from tests.testbed.conftest import require
from tests.testbed.test_cluster import enter, entering

sys.path.insert(0, str(ROOT / "testbed"))

from bed import errors
from bed.cell import Cell
from bed.network_bed import NetworkBed
from bed.room import Room

# 40 · 39 answers are more than the 1,024 for which the kernel has room by default.
MANY = 40
# Each accepts a connection from every other, and keeps them all until it is ended.
MEET = """
import socket, sys, threading
own, count, meeting = sys.argv[1], int(sys.argv[2]), sys.argv[3]
listener = socket.create_server(("", 5000), backlog=count)
open(f"{meeting}/{own}.listens", "w").close()
sys.stdin.readline()
met = [socket.create_connection((f"node{n}", 5000), 60) for n in range(1, count + 1)]
met += [listener.accept()[0] for _ in range(count)]
print(len(met), flush=True)
sys.stdin.readline()
"""


class Reaching(NetworkBed):
    """A bed whose clients reach what they are said to reach."""

    name, servers, network = "striped", 8, 3
    missing: tuple[str, ...] = ()

    def not_reached(self, cell: Cell, point: Path) -> list[str]:
        return list(self.missing)


def test_servers_that_a_client_does_not_reach_are_named(tmp_path: Path) -> None:
    bed = Reaching(Room(tmp_path))
    node, hub = Cell(tmp_path / "node9", node="node9"), Cell(tmp_path / "hub", mount=False)
    bed.wait_until_whole(node, tmp_path, 0)
    bed.missing = ("server3", "server7")
    with pytest.raises(errors.TestbedError) as refused:
        bed.wait_until_whole(node, tmp_path, 0)
    assert refused.value.message == (
        "the client of node9 does not reach server3, server7 of striped"
    )
    assert refused.value.hint == f"its log in {tmp_path}/striped/log may say why"
    with pytest.raises(errors.TestbedError, match="the client outside nodes does not reach"):
        bed.wait_until_whole(hub, tmp_path, 0)


@pytest.mark.slow
def test_up_waits_until_a_client_reaches_all_servers(testbed: Testbed) -> None:
    """A client that reaches two servers of three answers; it is not yet what `up` promises."""
    require("striped")
    testbed.up("cluster", "--nodes", "2", "--rate", "none")
    enter(testbed, "node2", "ip", "route", "add", "blackhole", "10.78.3.12")
    command = testbed.command("up", "striped", "--servers", "3", "--rate", "none")
    coming = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    log = testbed.directory / "striped" / "log" / "node2.log"
    until(lambda: log.exists() or coming.poll() is not None)
    point = testbed.directory / "striped" / "mnt" / "0"
    until(lambda: answers_on("node2", testbed, point))
    time.sleep(1)
    assert coming.poll() is None
    enter(testbed, "node2", "ip", "route", "delete", "blackhole", "10.78.3.12")
    coming.communicate(timeout=120)
    assert coming.returncode == 0
    assert testbed.status("cluster")["state"] == "up"
    pattern = f"grep -l '^connected = 1$' {point}/.meta/graphs/active/bed-client-*/private | wc -l"
    assert enter(testbed, "node2", "sh", "-c", pattern) == "3"


def answers_on(node: str, testbed: Testbed, point: Path) -> bool:
    looking = f"mountpoint -q {point} && stat -f {point}"
    return (
        subprocess.run(entering(testbed, node, "sh", "-c", looking), capture_output=True).returncode
        == 0
    )


@pytest.mark.slow
@pytest.mark.whole
def test_many_nodes_reach_each_other_all_at_once(testbed: Testbed, tmp_path: Path) -> None:
    require("cluster")
    hosts = testbed.up("cluster", "--nodes", str(MANY), "--rate", "none")["hosts"]
    words = [sys.executable, "-c", MEET]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    meeting = [
        subprocess.Popen(entering(testbed, host, *words, host, str(MANY), str(tmp_path)), **pipes)
        for host in hosts
    ]
    until(lambda: len(list(tmp_path.glob("*.listens"))) == MANY)
    for each in meeting:
        each.stdin.write("begin\n")
        each.stdin.flush()
    assert [each.stdout.readline() for each in meeting] == [f"{2 * MANY}\n"] * MANY
    for each in meeting:
        each.communicate("end\n", timeout=60)
    known = json.loads(enter(testbed, "node1", "ip", "-4", "-json", "neighbour", "show"))
    assert {state for entry in known for state in entry["state"]} == {"PERMANENT"}
