"""`cluster`: nodes on one machine, each with namespaces, a hostname, a clock, a disk and a shaped
link of its own, and with a client of its own of every file system that is up.

DIRECTORY/cluster/disk       a node's own disk, at one path on all; TMPDIR. Outside it is node1's
DIRECTORY/cluster/ssh        what launchers take for ssh
DIRECTORY/cluster/hosts      names of the nodes, one a line
DIRECTORY/cluster/login/     a socket for each node, at which `ssh` asks

A file system is mounted on the nodes where it is mounted outside.
"""

from __future__ import annotations

import shlex
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bed import delay, furnish, links, mounts, needs
from bed.cell import Cell
from bed.errors import TestbedError
from bed.network_bed import LONGEST_CONNECT_S, LONGEST_LOOK_S, NetworkBed, Wishes
from bed.node_slurm import NodeSlurm
from bed.room import Room
from bed.slurm import LONGEST_SOCKET_PATH

NETWORK = 100
NODES_MAX = 64
# Far apart, as of machines that were not started at one time.
CLOCK_STEP_S = 1000
LOGIN = Path(__file__).resolve().parent / "login.py"
AT_ONCE = 8


class Cluster:
    name = "cluster"

    def __init__(self, room: Room) -> None:
        self.room = room
        self.directory = room.of(self.name)

    def need(self, wishes: Wishes) -> None:
        needs.check(self.name, ["ip", "tc", "nsenter"], [], fuse=False)
        if len(str(self.directory / "login" / "node64")) > LONGEST_SOCKET_PATH:
            raise TestbedError(
                f"{self.directory} is too long a path for sockets", "a shorter --directory", 2
            )
        if wishes.nodes > NODES_MAX:
            raise TestbedError(f"a cluster has at most {NODES_MAX} nodes", "--nodes 8", 2)
        needs.check_delay(self.name, wishes.latency_us)
        if wishes.drift_ppm:
            needs.check(self.name, ["cc"], [], fuse=False)
        if wishes.disk_bytes_per_s is not None:
            needs.check(self.name, ["mkfs.ext4"], [], fuse=False)
            if not furnish.can_throttle():
                raise TestbedError(
                    "--disk-rate needs the blkio controller of the first version of control groups",
                    "leave --disk-rate out",
                    2,
                )
        if wishes.slurm:
            NodeSlurm.need()

    # --- what it consists of ---

    @property
    def hub(self) -> Cell:
        return Cell(self.directory / "cells" / "hub", mount=False)

    def count(self) -> int:
        record = self.room.record(self.name) or {}
        return record.get("nodes", 0)

    @property
    def nodes(self) -> list[Cell]:
        return [self.node(number) for number in range(1, self.count() + 1)]

    def node(self, number: int) -> Cell:
        return Cell(
            self.directory / "cells" / f"node{number}",
            node=f"node{number}",
            clock_offset_s=CLOCK_STEP_S * (number - 1),
        )

    def own(self, node: Cell) -> Path:
        return self.directory / "nodes" / node.node

    @property
    def disk(self) -> Path:
        return self.directory / "disk"

    @property
    def slurm(self) -> NodeSlurm:
        return NodeSlurm(self.directory / "slurm", self.hub, self.nodes)

    # --- up ---

    def up(self, wishes: Wishes) -> None:
        for part in ("disk", "nodes", "login"):
            (self.directory / part).mkdir()
        self.hub.start(self.room.lock)
        links.make_hub(self.hub, NETWORK)
        delayed = delay.command(self.hub, self.directory, wishes.latency_us)
        with ThreadPoolExecutor(AT_ONCE) as workers:
            list(workers.map(lambda node: self._start(node, wishes, delayed), self.nodes))
        self._introduce(self.nodes, self._addresses())
        links.introduce(self.hub, "hub", self._addresses())
        furnish.show_disk(self.own(self.node(1)), self.disk)
        links.shape(self.hub, self.nodes, "node", wishes.rate_bit_per_s)
        if wishes.drift_ppm:
            self._set_drifts(wishes.drift_ppm)
        self._write_ssh()
        (self.directory / "hosts").write_text("".join(f"{node.node}\n" for node in self.nodes))
        if wishes.slurm:
            self.slurm.up(wishes.cpus_per_node)

    def _start(self, node: Cell, wishes: Wishes, delayed: list[str]) -> None:
        number = int(node.node.removeprefix("node"))
        node.start(self.room.lock)
        furnish.furnish(node, self.room.directory, self.own(node), self.disk, self._hosts())
        if wishes.disk_bytes_per_s is not None:
            furnish.mount_disk(node, self.own(node), self.disk, wishes.disk_bytes_per_s)
        links.join(self.hub, node, node.node, links.address(NETWORK, number), delayed)
        node.run([sys.executable, str(LOGIN), "serve", str(self._socket(node)), str(self.disk)])

    @staticmethod
    def _introduce(cells: list[Cell], addresses: list[str]) -> None:
        for cell in cells:
            links.introduce(cell, "eth0", addresses)

    def _addresses(self) -> list[str]:
        """Of the hub and of each node."""
        return [links.address(NETWORK, number) for number in range(self.count() + 1)]

    def _hosts(self) -> str:
        lines = ["127.0.0.1 localhost"]
        for number, node in enumerate(self.nodes, 1):
            lines.append(f"{links.address(NETWORK, number)} {node.node}")
        return "\n".join([*lines, ""])

    def _socket(self, node: Cell) -> Path:
        return self.directory / "login" / node.node

    def _set_drifts(self, drift_ppm: float) -> None:
        """From -drift_ppm to +drift_ppm, in equal steps."""
        library = self.directory / "drift.so"
        furnish.build_drift(library)
        for node, drift_ppb in zip(self.nodes, drifts_ppb(self.count(), drift_ppm), strict=True):
            furnish.set_drift(node, library, drift_ppb)

    def _write_ssh(self) -> None:
        path = self.directory / "ssh"
        words = [sys.executable, str(LOGIN), "ask", str(self.directory / "login")]
        path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        path.chmod(0o755)

    def change(self, wishes: Wishes) -> None:
        links.shape(self.hub, self.nodes, "node", wishes.rate_bit_per_s)

    # --- its clients of other beds ---

    def reach(self, bed: NetworkBed) -> None:
        """Mounts `bed` on every node that has not mounted it."""
        link = f"to-{bed.name}"
        if not links.has(self.hub, link):
            self._introduce(self.nodes, bed.addresses())
            self._introduce(bed.server_cells, self._addresses())
            links.connect(self.hub, bed.hub, link)
        with ThreadPoolExecutor(AT_ONCE) as workers:
            list(workers.map(lambda node: self._mount(node, bed), self.nodes))

    def _mount(self, node: Cell, bed: NetworkBed) -> None:
        point = bed.mount_points(1)[0]
        if not _answers(node, point):
            self._mount_first(node, point, bed)
        bed.wait_until_whole(node, point, LONGEST_CONNECT_S)

    def _mount_first(self, node: Cell, point: Path, bed: NetworkBed) -> None:
        if mounts.mounted_below(point, node.run(["cat", "/proc/self/mountinfo"])):
            raise TestbedError(
                f"{bed.name} does not answer on {node.node}, where it is mounted",
                "testbed down cluster, then up again",
            )
        record = self.room.record(bed.name) or {}
        log = bed.directory / "log" / f"{node.node}.log"
        bed.mount_one(node, point, log, record.get("client", "auto"))
        end = time.monotonic() + LONGEST_CONNECT_S
        while not _answers(node, point):
            if time.monotonic() > end:
                raise TestbedError(
                    f"{bed.name} does not answer on {node.node}", f"{log} may say why"
                )
            time.sleep(0.05)

    def leave(self, bed: NetworkBed, force: bool) -> None:
        """Before `bed` ends: what its clients hold goes to the servers."""
        point = bed.mount_points(1)[0]
        for node in self.nodes:
            if node.pid() is not None and _answers(node, point):
                self._unmount(node, point, force)

    @staticmethod
    def _unmount(node: Cell, point: Path, force: bool) -> None:
        try:
            node.run(["umount", *["--lazy"] * force, str(point)])
        except TestbedError:
            raise TestbedError(
                f"{point} is in use on {node.node}",
                "end what uses it, or give --force, which takes it away from them",
            ) from None

    # --- down ---

    def down(self, force: bool) -> None:
        mounts.unmount_below(self.directory, force)
        for bed in self._reached():
            self.leave(bed, force)
        for cell in (*self.nodes, self.hub):
            cell.end()
        for node in self.nodes:
            furnish.let_disk_go(self.own(node))

    def _reached(self) -> list[NetworkBed]:
        from bed.beds import BEDS

        found = [
            BEDS[name](self.room)
            for name in BEDS
            if issubclass(BEDS[name], NetworkBed) and (self.room.record(name) or {}).get("complete")
        ]
        return [bed for bed in found if bed.hub.pid() is not None]

    def fail(self, number: int) -> None:
        """As if its power had failed: everything on it ends at once, unsaved data are lost."""
        node = self.node(number)
        if node.pid() is None:
            raise TestbedError(f"node{number} has ended already")
        node.end()

    # --- status ---

    def check(self, record: dict) -> dict:
        ended = [node.node for node in self.nodes if node.pid() is None]
        if self.hub.pid() is None or ended:
            raise TestbedError(f"{', '.join(ended) or 'its network'} has ended")
        for bed in self._reached():
            point = bed.mount_points(1)[0]
            for node in self.nodes:
                if not _answers(node, point):
                    raise TestbedError(f"{bed.name} does not answer on {node.node}")
                bed.wait_until_whole(node, point, LONGEST_LOOK_S)
        return {
            "mounts": [str(self.disk)] if mounts.mounted_below(self.disk) else [],
            "rate_bit_per_s": links.rate_in_force(self.hub, self.nodes, "node"),
            "servers": 0,
            "client": None,
            "file_system": None,
            "nodes": record["nodes"],
            "disk": str(self.disk),
            "disk_bytes_per_s": record["disk_bytes_per_s"],
            "ssh": str(self.directory / "ssh"),
            "hosts": [node.node for node in self.nodes],
            "clocks": self._clocks(record),
            "slurm_conf": str(self.slurm.configuration) if record["slurm"] else None,
        }

    def _clocks(self, record: dict) -> list[dict]:
        drifts = drifts_ppb(record["nodes"], record["drift_ppm"])
        return [
            {"offset_s": node.clock_offset_s, "drift_ppb": drift}
            for node, drift in zip(self.nodes, drifts, strict=True)
        ]


def drifts_ppb(nodes: int, drift_ppm: float) -> list[int]:
    step = 2 * drift_ppm / max(1, nodes - 1)
    return [round(1000 * (step * node - drift_ppm)) for node in range(nodes)]


def _answers(node: Cell, point: Path) -> bool:
    quoted = shlex.quote(str(point))
    try:
        node.run(["sh", "-c", f"mountpoint -q {quoted} && stat -f {quoted}"], timeout_s=10)
    except TestbedError:
        return False
    return True
