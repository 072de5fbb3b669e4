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
from bed.errors import TestbedError
from bed.network_bed import Wishes
from bed.room import Room

DEFAULT_DIRECTORY = Path(__file__).resolve().parents[2] / "build" / "testbed"
SIZES = {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
# Of a bed that is up these cannot change: the data would have to move, or Slurm to be started anew.
FIXED = {
    "capacity_bytes": "capacity",
    "client": "client",
    "nodes": "nodes",
    "cpus_per_node": "cpus-per-node",
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
        "--nodes", type=_positive, default=2, metavar="N", help="of slurm [%(default)s]"
    )
    up.add_argument(
        "--cpus-per-node", type=_positive, default=4, metavar="N", help="of slurm [%(default)s]"
    )
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
    return top


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
    )
    room = Room(arguments.directory)
    for name in arguments.names:
        BEDS[name](room).need(wishes)
    with room.locked(make=True):
        for name in dict.fromkeys(arguments.names):
            _bring_up(room, name, wishes)
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


def _recorded(bed: object, wishes: Wishes) -> dict:
    client = bed.client(wishes.client) if bed.name == "nfs" else "fuse"
    return {**vars(wishes), "client": client}


def _change(room: Room, name: str, wishes: Wishes, record: dict) -> None:
    bed = BEDS[name](room)
    asked = _recorded(bed, wishes)
    relevant = (
        FIXED if name == "slurm" else [key for key in FIXED if key in ("capacity_bytes", "client")]
    )
    for key in relevant if name != "local" else []:
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
        # Slurm first: its jobs use the others
        names = arguments.names or [name for name in reversed(BEDS) if room.record(name)]
        for name in dict.fromkeys(names):
            if room.record(name):
                _progress(f"{name}: ending")
                _take_down(room, name, arguments.force)
        room.leave_if_empty()
    tell(room, [look(room, name) for name in arguments.names], arguments.json)
    return 0


def _take_down(room: Room, name: str, force: bool) -> None:
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
    lines = [f"{bed['name']}: up, {_rate(bed)}{' '.join(bed['mounts'])}".rstrip(", ")]
    lines += [f"    export {key}={value}" for key, value in bed.get("environment", {}).items()]
    return [*lines, f"    is {bed['is']}", f"    is not {bed['is_not']}"]


def _rate(bed: dict) -> str:
    if not bed["servers"]:
        return ""
    if bed["rate_bit_per_s"] is None:
        return "links not shaped, "
    return f"{bed['servers']} x {bed['rate_bit_per_s'] / 1e6:g} Mb/s, "


def _progress(text: str) -> None:
    with contextlib.suppress(OSError):
        print(f"testbed: {text}", file=sys.stderr, flush=True)


VERBS: dict[str, Callable[[argparse.Namespace], int]] = {"up": up, "down": down, "status": status}
