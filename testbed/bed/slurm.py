"""`slurm`: munged, slurmctld and several slurmd, each a node of its own by name, all on this
machine's loopback.

They have no namespaces: jobs have to see the other beds, MPI libraries look for each other in
/proc, and `sbatch` and `srun` are called from outside. That no job survives them is seen to by the
cell's holder, whose descendants all are.
"""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

from bed import needs, system
from bed.cell import Cell
from bed.errors import TestbedError
from bed.network_bed import Wishes
from bed.room import Room

LONGEST_SOCKET_PATH = 107

CONFIGURATION = """\
ClusterName=testbed
SlurmctldHost={host}({address})
SlurmctldPort={controller_port}
{communication}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool/%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/log/slurmctld.log
SlurmdLogFile={directory}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=pmi2
TCPTimeout=30
SwitchType=switch/none
MailProg=/bin/true
"""
NODE = (
    "NodeName=node{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus}"
    " State=UNKNOWN\n"
)
PARTITION = (
    "PartitionName=main Nodes=node[1-{nodes}] Default=YES MaxTime=INFINITE State=UP"
    " OverSubscribe=FORCE:4\n"
)


class Slurm:
    name = "slurm"

    def __init__(self, room: Room) -> None:
        self.room = room
        self.directory = room.of(self.name)

    @property
    def cell(self) -> Cell:
        return Cell(self.directory / "cells" / "daemons", net=False, mount=False, processes=False)

    @property
    def configuration(self) -> Path:
        return self.directory / "slurm.conf"

    def need(self, wishes: Wishes) -> None:
        needs.check(
            self.name, ["nsenter", "munged", "slurmctld", "slurmd", "sinfo"], [], fuse=False
        )
        if len(str(self.directory / "munge" / "socket")) > LONGEST_SOCKET_PATH:
            raise TestbedError(
                f"{self.directory} is too long a path for munge's socket",
                "a shorter --directory",
                2,
            )

    # --- up ---

    def up(self, wishes: Wishes) -> None:
        for part in ("state", "spool", "munge"):
            (self.directory / part).mkdir(mode=0o755)
        self._configure(wishes)
        commands = [
            munge_command(self.directory / "munge"),
            ["slurmctld", "-c", "-f", str(self.configuration)],
        ]
        for number in range(1, wishes.nodes + 1):
            (self.directory / "spool" / f"node{number}").mkdir()
            commands.append(["slurmd", "-N", f"node{number}", "-f", str(self.configuration)])
        self.cell.start(self.room.lock, commands=commands)
        self._wait_until_idle(wishes.nodes)

    def _configure(self, wishes: Wishes) -> None:
        host = socket.gethostname().partition(".")[0]
        ports = free_ports(1 + wishes.nodes)
        text = CONFIGURATION.format(
            host=host,
            address="127.0.0.1",
            communication="CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
            directory=self.directory,
            controller_port=ports[0],
        )
        for number, port in enumerate(ports[1:], 1):
            text += NODE.format(number=number, host=host, port=port, cpus=wishes.cpus_per_node)
        self.configuration.write_text(text + PARTITION.format(nodes=wishes.nodes))

    def _wait_until_idle(self, nodes: int, timeout_s: float = 120) -> None:
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            try:
                if self.nodes().count("idle") == nodes:
                    return
            except TestbedError:  # slurmctld is still starting
                pass
            time.sleep(0.1)
        raise TestbedError(
            f"not all nodes of Slurm are idle within {timeout_s:g} s; logs are in"
            f" {self.directory}/log"
        )

    def nodes(self) -> list[str]:
        """The state of each node, in Slurm's words."""
        environment = {"SLURM_CONF": str(self.configuration)}
        return system.run(["sinfo", "--noheader", "--Node", "--format=%T"], 10, environment).split()

    def change(self, wishes: Wishes) -> None:
        """The number of nodes does not change while Slurm runs; `command` refuses that."""

    # --- down and status ---

    def down(self, force: bool) -> None:
        self.cell.end()

    def check(self, record: dict) -> dict:
        if self.cell.pid() is None:
            raise TestbedError("its daemons have ended")
        states = self.nodes()
        usable = [state for state in states if state.startswith(("idle", "alloc", "mix", "comp"))]
        if len(usable) != record["nodes"]:
            raise TestbedError(f"only {len(usable)} of {record['nodes']} nodes answer")
        return {
            "mounts": [],
            "rate_bit_per_s": None,
            "servers": 0,
            "client": None,
            "file_system": None,
            "nodes": record["nodes"],
            "cpus_per_node": record["cpus_per_node"],
            "environment": {"SLURM_CONF": str(self.configuration)},
        }


def munge_command(munge: Path) -> list[str]:
    """With a key of its own. It refuses directories that others may write, as /tmp above us,
    unless forced."""
    key = os.open(munge / "key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    os.write(key, os.urandom(1024))
    os.close(key)
    files = {
        "key-file": "key",
        "socket": "socket",
        "pid-file": "pid",
        "log-file": "log",
        "seed-file": "seed",
    }
    return ["munged", "--force", *(f"--{option}={munge / name}" for option, name in files.items())]


def free_ports(count: int) -> list[int]:
    """Of the loopback. Another program could take one before the daemon does; then that says so in
    its log."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports
