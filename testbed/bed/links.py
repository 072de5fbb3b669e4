"""Links: a hub, in which clients live, and one pair of devices to each server, both ends shaped by
a token bucket: a veth, or devices with a distance between them (delay.py).

The hub has a network namespace of its own too, so that the machine's own network is neither used
nor changed. Each kind of bed has addresses of its own in one network, so that nodes of the cluster
reach all of them; beds in different directories never meet.

A device's hardware address follows from its address, so that nodes of the cluster need not ask for
each other's: what the kernel learns by asking has room for 1,024 answers (net.ipv4.neigh.default's
gc_thresh3) for all network namespaces together, as many as 32 nodes that talk to each other fill.
Beyond it packets are dropped, and connections with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from bed import system
from bed.cell import Cell
from bed.errors import TestbedError

NETWORK, PREFIX = "10.78", 16
# A bucket of 64 kB is a few milliseconds at these rates; 50 ms of queue is what small switches
# have.
BUCKET = ["burst", "64kb", "latency", "50ms"]
REPLACE = ["tc", "qdisc", "replace", "dev"]
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


def address(network: int, number: int) -> str:
    """Of a server of a bed, or of a node, counted from 1; 0 is the hub."""
    return f"{NETWORK}.{network}.{10 + number if number else 1}"


def hardware_address(internet_address: str) -> str:
    """Of the device with this address: 02 is for addresses that no maker has given."""
    return "02:00:" + ":".join(f"{int(part):02x}" for part in internet_address.split("."))


def make_hub(hub: Cell, network: int) -> None:
    own = address(network, 0)
    for command in (
        f"ip link add hub address {hardware_address(own)} type bridge",
        f"ip address add {own}/{PREFIX} dev hub",
        "ip link set hub up",
    ):
        _in_network(hub, command.split())


def join(hub: Cell, far: Cell, near: str, far_address: str, delay: Sequence[str] = ()) -> None:
    """A link from the hub, where its end is called `near`, to the cell's eth0. `delay`: the command
    that makes one with a distance."""
    address_there = hardware_address(far_address)
    if delay:
        far_end = f"{near}-far"
        hub.run([*delay, near, far_end])
        _in_network(hub, f"ip link set {far_end} address {address_there}".split())
        _in_network(hub, f"ip link set {far_end} netns {far.pid()} name eth0".split())
    else:
        _add_pair(hub, near, far, f"eth0 address {address_there}")
    _in_network(hub, ["ip", "link", "set", near, "master", "hub", "up"])
    _in_network(far, ["ip", "address", "add", f"{far_address}/{PREFIX}", "dev", "eth0"])
    _in_network(far, ["ip", "link", "set", "eth0", "up"])


def introduce(cell: Cell, device: str, addresses: Iterable[str]) -> None:
    """The cell need not ask who has these addresses. What is entered by hand does not count against
    the kernel's limit."""
    entry = f"neighbour replace {{}} lladdr {{}} dev {device} nud permanent\n"
    entries = "".join(entry.format(found, hardware_address(found)) for found in addresses)
    _in_network(cell, ["ip", "-batch", "-"], entries)


def connect(hub: Cell, other: Cell, name: str) -> None:
    """Two hubs become one network, without a limit of their own between them; `name` is the link's
    in both."""
    _add_pair(hub, name, other, name)
    for end in (hub, other):
        _in_network(end, ["ip", "link", "set", name, "master", "hub", "up"])


def has(cell: Cell, device: str) -> bool:
    found = json.loads(_in_network(cell, ["ip", "-json", "link", "show"]) or "[]")
    return any(link["ifname"] == device for link in found)


def _add_pair(near: Cell, name: str, far: Cell, far_end: str) -> None:
    """`far_end`: its name, and what else `ip` is to know of it."""
    pair = f"ip link add {name} type veth peer name {far_end} netns {far.pid()}"
    _in_network(near, pair.split())


def shape(hub: Cell, far: list[Cell], prefix: str, rate: int | None) -> None:
    """Both directions of every link: what is sent there at the hub's end, what comes from there at
    its own."""
    for number, cell in enumerate(far, 1):
        for end, device in ((hub, f"{prefix}{number}"), (cell, "eth0")):
            _shape_end(end, device, rate)


def _shape_end(cell: Cell, device: str, rate: int | None) -> None:
    if rate is not None:
        _in_network(
            cell,
            [*REPLACE, device, "root", "handle", "1:", "tbf", "rate", f"{rate}bit", *BUCKET],
        )
    elif rates_of_end(cell, device):
        _in_network(cell, ["tc", "qdisc", "delete", "dev", device, "root"])


def rates_of_end(cell: Cell, device: str) -> list[int]:
    """In bit/s, as the kernel has it: none where the device is not shaped."""
    disciplines = json.loads(
        _in_network(cell, ["tc", "-json", "qdisc", "show", "dev", device]) or "[]"
    )
    return [8 * int(found["options"]["rate"]) for found in disciplines if found["kind"] == "tbf"]


def rate_in_force(hub: Cell, far: list[Cell], prefix: str) -> int | None:
    """In bit/s; None where no link is shaped. Raises TestbedError where the ends differ."""
    ends = [rates_of_end(hub, f"{prefix}{number}") for number in range(1, len(far) + 1)]
    ends += [rates_of_end(cell, "eth0") for cell in far]
    if any(end != ends[0] for end in ends):
        raise TestbedError("its links are not all shaped alike")
    return ends[0][0] if ends[0] else None


def _in_network(cell: Cell, command: list[str], given: str = "") -> str:
    """`given`: what the command is to read."""
    pid = cell.pid()
    if pid is None:
        raise TestbedError(f"{cell.record.stem} has ended")
    return system.run(["nsenter", "--target", str(pid), "--net", "--", *command], given=given)
