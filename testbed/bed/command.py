"""The command line: up, down, status. Data on stdout, progress and errors on stderr.

Exit status: 0 done; 1 a bed is not up, is broken, or does not come up or down; 2 wrong use, or
something is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from bed import links
from bed.beds import BEDS, IS, IS_NOT
from bed.cell import Cell
from bed.cluster import Cluster
from bed.errors import TestbedError
from bed.network_bed import NetworkBed, Wishes
from bed.room import Room

DEFAULT_DIRECTORY = Path(__file__).resolve().parents[2] / "build" / "testbed"
SIZES = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
# Of a bed that is up these cannot change: the data would have to move, or Slurm to be started anew.
FIXED = {
    "capacity_bytes": "capacity",
    "client": "client",
    "nodes": "nodes",
    "cpus_per_node": "cpus-per-node",
    "servers": "servers",
    "latency_us": "latency",
    "drift_ppm": "clock-drift",
    "disk_bytes_per_s": "disk-rate",
    "slurm": "slurm",
}
FIXED_OF = {
    "local": (),
    "nfs": ("capacity_bytes", "client", "latency_us"),
    "single": ("capacity_bytes", "latency_us"),
    "striped": ("capacity_bytes", "servers", "latency_us"),
    "slurm": ("nodes", "cpus_per_node"),
    "cluster": (
        "nodes",
        "cpus_per_node",
        "latency_us",
        "drift_ppm",
        "disk_bytes_per_s",
        "slurm",
    ),
}


def main() -> int:
    # where an ordinary user's PATH does not look
    os.environ["PATH"] += os.pathsep + os.pathsep.join(("/usr/local/sbin", "/usr/sbin", "/sbin"))
    arguments = parser().parse_args()
    try:
        return VERBS[arguments.verb](arguments)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("\ntestbed: stopped; `testbed down` removes what stands", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stdout = None
        return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="testbed", description="Real network file systems, and Slurm, on one machine."
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    up = _verb(
        verbs,
        "up",
        "bring beds up; those that are up stay, with the rate and the mounts given",
        "+",
    )
    up.add_argument(
        "--rate", default="100mbit", help="of every server's link, each way; or none [%(default)s]"
    )
    up.add_argument(
        "--mounts",
        type=_positive,
        default=1,
        metavar="N",
        help="client mounts, each as if on a node [1]",
    )
    up.add_argument(
        "--capacity",
        type=_size,
        metavar="SIZE",
        help="each server has this much space, in memory [disk]",
    )
    up.add_argument(
        "--client", choices=["auto", "kernel", "fuse"], default="auto", help="of nfs [%(default)s]"
    )
    up.add_argument(
        "--servers", type=_servers, default=4, metavar="N", help="of striped, 3 to 8 [%(default)s]"
    )
    up.add_argument(
        "--nodes", type=_positive, default=2, metavar="N", help="of slurm or cluster [%(default)s]"
    )
    up.add_argument(
        "--cpus-per-node",
        type=_positive,
        default=4,
        metavar="N",
        help="of slurm or cluster, as Slurm counts them [%(default)s]",
    )
    _add_cluster(up)
    down = _verb(
        verbs,
        "down",
        "end beds, all that stand where none is named; what lies on them is lost",
        "*",
    )
    down.add_argument(
        "--force", action="store_true", help="also where programs still use the mounts"
    )
    _verb(verbs, "status", "what stands; 1 where a named bed is not up", "*")
    for name, text in (
        ("enter", "run a command on a node of the cluster, from the directory it is called in"),
        ("fail", "end everything on a node of the cluster at once, as if its power had failed"),
    ):
        verb = verbs.add_parser(name, help=text, description=text)
        verb.add_argument("--directory", type=Path, default=DEFAULT_DIRECTORY)
        verb.add_argument("node", metavar="NODE", help="node1, node2, ...")
        if name == "enter":
            verb.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    return top


def _add_cluster(up: argparse.ArgumentParser) -> None:
    up.add_argument(
        "--latency",
        type=_microseconds,
        metavar="TIME",
        help="of a round trip over a server's or node's link, e.g. 200us, beside what it takes by"
        " itself [-]",
    )
    up.add_argument(
        "--disk-rate", type=_size, metavar="SIZE", help="of a node's disk, a second, e.g. 35mb [-]"
    )
    up.add_argument(
        "--clock-drift",
        type=_drift,
        default=0.0,
        metavar="PPM",
        help="clocks of nodes drift by up to so much, in parts per million [%(default)g]",
    )
    up.add_argument("--slurm", action="store_true", help="one slurmd on each node of the cluster")


def _verb(verbs: object, name: str, text: str, count: str) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=text, description=text)
    verb.add_argument("names", nargs=count, metavar="NAME", type=_bed_name, help=", ".join(BEDS))
    verb.add_argument(
        "--directory", type=Path, default=DEFAULT_DIRECTORY, help="where beds live [build/testbed]"
    )
    verb.add_argument(
        "--json", action="store_true", help="print the answer as JSON (docs/schema/testbed.json)"
    )
    return verb


def _bed_name(text: str) -> str:
    if text not in BEDS:
        raise argparse.ArgumentTypeError(f"there is no bed {text!r}; there are {', '.join(BEDS)}")
    return text


def _positive(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 999")
    return int(text)


def _servers(text: str) -> int:
    if not re.fullmatch(r"[3-8]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 3 to 8")
    return int(text)


def _microseconds(text: str) -> int:
    match = re.fullmatch(r"([0-9]+)(us|ms)", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 200us or 1ms")
    return int(match[1]) * (1000 if match[2] == "ms" else 1)


def _drift(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of parts per million, to 999")
    return float(text)


def _size(text: str) -> int:
    match = re.fullmatch(r"([0-9]+)(kb|mb|gb|tb)", text.lower())
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500mb or 2gb")
    return int(match[1]) * SIZES[match[2]]


# --- up -------------------------------------------------------------------------------------------


def up(arguments: argparse.Namespace) -> int:
    wishes = Wishes(
        links.rate_bit_per_s(arguments.rate),
        arguments.mounts,
        arguments.capacity,
        arguments.client,
        arguments.nodes,
        arguments.cpus_per_node,
        arguments.servers,
        arguments.latency,
        arguments.clock_drift,
        arguments.disk_rate,
        arguments.slurm,
    )
    room = Room(arguments.directory)
    for name in arguments.names:
        BEDS[name](room).need(wishes)
    with room.locked(make=True):
        for name in dict.fromkeys(arguments.names):
            _bring_up(room, name, wishes)
        _join_cluster(room)
        found = [look(room, name) for name in dict.fromkeys(arguments.names)]
    tell(room, found, arguments.json)
    return 0 if all(bed["state"] == "up" for bed in found) else 1


def _bring_up(room: Room, name: str, wishes: Wishes) -> None:
    bed, record = BEDS[name](room), room.record(name)
    if record and record["complete"]:
        _change(room, name, wishes, record)
        return
    if record:  # of an `up` that did not get to its end
        _progress(f"{name}: removing what an interrupted start left")
        _take_down(room, name, force=True)
    _progress(f"{name}: starting")
    asked = {"schema": 1, "name": name, "complete": False, **_recorded(bed, wishes)}
    room.begin(name, asked)
    try:
        bed.up(wishes)
    except BaseException:
        _take_down(room, name, force=True)
        room.leave_if_empty()
        raise
    room.write_record(name, {**asked, "complete": True})


def _join_cluster(room: Room) -> None:
    """Every file system that is up is on every node."""
    if (room.record("cluster") or {}).get("complete"):
        for bed in _network_beds(room):
            BEDS["cluster"](room).reach(bed)


def _network_beds(room: Room) -> list[NetworkBed]:
    up = [name for name in BEDS if (room.record(name) or {}).get("complete")]
    return [BEDS[name](room) for name in up if issubclass(BEDS[name], NetworkBed)]


def _recorded(bed: object, wishes: Wishes) -> dict:
    client = bed.client(wishes.client) if bed.name == "nfs" else "fuse"
    return {**vars(wishes), "client": client}


def _change(room: Room, name: str, wishes: Wishes, record: dict) -> None:
    bed = BEDS[name](room)
    asked = _recorded(bed, wishes)
    for key in FIXED_OF[name]:
        if record[key] != asked[key]:
            raise TestbedError(
                f"{name} is up with another --{FIXED[key]} ({record[key]})",
                f"testbed down {name}, then up again",
            )
    state = look(room, name)
    if state["state"] != "up":
        raise TestbedError(
            f"{name} is broken: {state['reason']}", f"testbed down {name}, then up again"
        )
    bed.change(wishes)
    mounts = max(record["mounts"], wishes.mounts)
    room.write_record(name, {**record, "rate_bit_per_s": wishes.rate_bit_per_s, "mounts": mounts})


# --- down -----------------------------------------------------------------------------------------


def down(arguments: argparse.Namespace) -> int:
    room = Room(arguments.directory)
    if not room.exists():
        tell(room, [look(room, name) for name in arguments.names], arguments.json)
        return 0
    if os.geteuid() != 0:
        raise TestbedError("ending beds needs root", "run it with sudo", 2)
    with room.locked(make=False):
        # the cluster and Slurm first: their programs use the others
        names = arguments.names or [name for name in reversed(BEDS) if room.record(name)]
        for name in dict.fromkeys(names):
            if room.record(name):
                _progress(f"{name}: ending")
                _take_down(room, name, arguments.force)
        room.leave_if_empty()
    tell(room, [look(room, name) for name in arguments.names], arguments.json)
    return 0


def _take_down(room: Room, name: str, force: bool) -> None:
    if issubclass(BEDS[name], NetworkBed) and (room.record("cluster") or {}).get("complete"):
        BEDS["cluster"](room).leave(BEDS[name](room), force)
    BEDS[name](room).down(force)
    room.remove(name)


# --- status ---------------------------------------------------------------------------------------


def status(arguments: argparse.Namespace) -> int:
    room = Room(arguments.directory)
    found = [look(room, name) for name in arguments.names or BEDS]
    tell(room, found, arguments.json)
    wanted = found if arguments.names else [bed for bed in found if bed["state"] != "down"]
    return 0 if all(bed["state"] == "up" for bed in wanted) else 1


def look(room: Room, name: str) -> dict:
    """One bed as JSON has it."""
    bed = {"name": name, "state": "down", "reason": None, "is": IS[name], "is_not": IS_NOT[name]}
    record = room.record(name)
    if record is None:
        return bed
    if os.geteuid() != 0:
        raise TestbedError("looking into beds needs root", "run it with sudo", 2)
    if not record["complete"]:
        return {**bed, "state": "broken", "reason": "it was interrupted while it was brought up"}
    try:
        return {
            **bed,
            "state": "up",
            **BEDS[name](room).check(record),
            "capacity_bytes": record["capacity_bytes"],
        }
    except TestbedError as error:
        return {**bed, "state": "broken", "reason": error.message}


def tell(room: Room, found: list[dict], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"schema": 1, "directory": str(room.directory), "beds": found}, indent=2))
        return
    for bed in found:
        for line in _described(bed):
            print(line)


def _described(bed: dict) -> list[str]:
    if bed["state"] != "up":
        return [f"{bed['name']}: {bed['state']}" + (f": {bed['reason']}" if bed["reason"] else "")]
    lines = [
        f"{bed['name']}: up, {_size_of(bed)}{_rate(bed)}{' '.join(bed['mounts'])}".rstrip(", ")
    ]
    lines += [f"    {key}: {bed[key]}" for key in ("disk", "ssh", "slurm_conf") if bed.get(key)]
    lines += [f"    export {key}={value}" for key, value in bed.get("environment", {}).items()]
    return [*lines, f"    is {bed['is']}", f"    is not {bed['is_not']}"]


def _size_of(bed: dict) -> str:
    return f"{bed['nodes']} nodes, " if "nodes" in bed else ""


def _rate(bed: dict) -> str:
    links = bed["servers"] or len(bed.get("hosts", []))
    if not links:
        return ""
    if bed["rate_bit_per_s"] is None:
        return "links not shaped, "
    return f"{links} x {bed['rate_bit_per_s'] / 1e6:g} Mb/s, "


def _progress(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"testbed: {text}", file=sys.stderr, flush=True)


# --- nodes ----------------------------------------------------------------------------------------


def enter(arguments: argparse.Namespace) -> int:
    """Becomes the command, on the node, with our environment."""
    cluster, node = _node(arguments)
    command = arguments.command[arguments.command[:1] == ["--"] :]
    if not command:
        raise TestbedError("there is no command", "testbed enter node1 mpiexec -n 4 ./program", 2)
    words = ["env", f"--chdir={Path.cwd()}", f"TMPDIR={cluster.disk}", *command]
    inside = node.inside(words)
    os.execvp(inside[0], inside)


def fail(arguments: argparse.Namespace) -> int:
    cluster, node = _node(arguments)
    cluster.fail(int(node.node.removeprefix("node")))
    return 0


def _node(arguments: argparse.Namespace) -> tuple[Cluster, Cell]:
    room = Room(arguments.directory)
    if os.geteuid() != 0:
        raise TestbedError("entering nodes needs root", "run it with sudo", 2)
    if not (room.record("cluster") or {}).get("complete"):
        raise TestbedError("cluster is not up", "testbed up cluster --nodes 4")
    cluster = BEDS["cluster"](room)
    for node in cluster.nodes:
        if node.node == arguments.node:
            return cluster, node
    known = f"node1 to node{cluster.count()}"
    raise TestbedError(f"there is no node {arguments.node!r}", f"there are {known}", 2)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "up": up,
    "down": down,
    "status": status,
    "enter": enter,
    "fail": fail,
}
