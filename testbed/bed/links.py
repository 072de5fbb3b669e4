"""Links: a hub, in which clients live, and one veth pair to each server, both ends shaped by a
token bucket.

The hub has a network namespace of its own too, so that the machine's own network is neither used
nor changed, and two beds never meet.
"""

from __future__ import annotations

import json
import re

from bed import system
from bed.cell import Cell
from bed.errors import TestbedError

NETWORK = "10.78.0"
# A bucket of 64 kB is a few milliseconds at these rates; 50 ms of queue is what small switches
# have.
BUCKET = ["burst", "64kb", "latency", "50ms"]
UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}


def rate_bit_per_s(text: str) -> int | None:
    """`100mbit`, `1.5gbit`, …; None for `none`: not shaped."""
    if text == "none":
        return None
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(bit|kbit|mbit|gbit)", text)
    rate = round(float(match[1]) * UNITS[match[2]]) if match else 0
    if rate < 1_000_000:
        raise TestbedError(
            f"the rate {text!r} is not a rate of a link",
            "a number and a unit, at least 1mbit: 100mbit, 1gbit; or none",
            2,
        )
    return rate


def server_address(number: int) -> str:
    return f"{NETWORK}.{10 + number}"


def make_hub(hub: Cell) -> None:
    for command in (
        "ip link add hub type bridge",
        f"ip address add {NETWORK}.1/24 dev hub",
        "ip link set hub up",
    ):
        _in_network(hub, command.split())


def join(hub: Cell, server: Cell, number: int) -> None:
    near = f"server{number}"
    _in_network(
        hub,
        [
            "ip",
            "link",
            "add",
            near,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            str(server.pid()),
        ],
    )
    _in_network(hub, ["ip", "link", "set", near, "master", "hub", "up"])
    _in_network(server, ["ip", "address", "add", f"{server_address(number)}/24", "dev", "eth0"])
    _in_network(server, ["ip", "link", "set", "eth0", "up"])


def shape(hub: Cell, servers: list[Cell], rate: int | None) -> None:
    """Both directions of every server's link: what it is sent at the hub's end, what it sends at
    its own."""
    for number, server in enumerate(servers, 1):
        _shape_end(hub, f"server{number}", rate)
        _shape_end(server, "eth0", rate)


def _shape_end(cell: Cell, device: str, rate: int | None) -> None:
    if rate is not None:
        _in_network(
            cell,
            ["tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{rate}bit", *BUCKET],
        )
    elif rates_of_end(cell, device):
        _in_network(cell, ["tc", "qdisc", "delete", "dev", device, "root"])


def rates_of_end(cell: Cell, device: str) -> list[int]:
    """In bit/s, as the kernel has it: none where the device is not shaped."""
    disciplines = json.loads(
        _in_network(cell, ["tc", "-json", "qdisc", "show", "dev", device]) or "[]"
    )
    return [8 * int(found["options"]["rate"]) for found in disciplines if found["kind"] == "tbf"]


def rate_in_force(hub: Cell, servers: list[Cell]) -> int | None:
    """In bit/s; None where no link is shaped. Raises TestbedError where the ends differ."""
    ends = [rates_of_end(hub, f"server{number}") for number in range(1, len(servers) + 1)]
    ends += [rates_of_end(server, "eth0") for server in servers]
    if any(end != ends[0] for end in ends):
        raise TestbedError("its links are not all shaped alike")
    return ends[0][0] if ends[0] else None


def _in_network(cell: Cell, command: list[str]) -> str:
    pid = cell.pid()
    if pid is None:
        raise TestbedError(f"{cell.record.stem} has ended")
    return system.run(["nsenter", "--target", str(pid), "--net", "--", *command])
