"""Slurm on the cluster: munged and slurmctld beside the nodes' switch, one slurmd on each node.
Jobs are sent from a node."""

from __future__ import annotations

import socket
import time
from pathlib import Path

from bed import links, needs
from bed.cell import Cell
from bed.errors import TestbedError
from bed.slurm import CONFIGURATION, PARTITION, munge_command

NETWORK = 100
NODE = "NodeName=node{number} NodeAddr={address} CPUs={cpus} State=UNKNOWN\n"


class NodeSlurm:
    def __init__(self, directory: Path, hub: Cell, nodes: list[Cell]) -> None:
        self.directory, self.hub, self.nodes = directory, hub, nodes

    @staticmethod
    def need() -> None:
        needs.check("--slurm", ["munged", "slurmctld", "slurmd", "sinfo"], [], fuse=False)

    @property
    def configuration(self) -> Path:
        return self.directory / "slurm.conf"

    def up(self, cpus_per_node: int) -> None:
        for part in ("state", "spool", "munge", "log"):
            (self.directory / part).mkdir(parents=True, mode=0o755)
        self.configuration.write_text(self._configured(cpus_per_node))
        self.hub.run(munge_command(self.directory / "munge"))
        self.hub.run(["slurmctld", "-c", "-f", str(self.configuration)])
        for node in self.nodes:
            (self.directory / "spool" / node.node).mkdir()
            node.run(["slurmd", "-N", node.node, "-f", str(self.configuration)])
        self._wait_until_idle()

    def _configured(self, cpus: int) -> str:
        host = socket.gethostname().partition(".")[0]
        text = CONFIGURATION.format(
            host=host,
            address=links.address(NETWORK, 0),
            communication="",
            directory=self.directory,
            controller_port=6817,
        )
        for number, _ in enumerate(self.nodes, 1):
            address = links.address(NETWORK, number)
            text += NODE.format(number=number, address=address, cpus=cpus)
        return text + PARTITION.format(nodes=len(self.nodes))

    def _wait_until_idle(self, timeout_s: float = 60) -> None:
        end = time.monotonic() + timeout_s
        question = ["sinfo", "--noheader", "--Node", "--format=%T"]
        while time.monotonic() < end:
            try:
                states = self.hub.run(
                    question, environment={"SLURM_CONF": str(self.configuration)}
                ).split()
                if states.count("idle") == len(self.nodes):
                    return
            except TestbedError:  # slurmctld is still starting
                pass
            time.sleep(0.2)
        raise TestbedError(
            f"not all nodes of Slurm are idle within {timeout_s:g} s; logs are in"
            f" {self.directory}/log"
        )
