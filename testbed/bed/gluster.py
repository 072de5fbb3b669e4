"""`single` and `striped`: GlusterFS, one server behind one link, and a volume dispersed over four
behind four."""

from __future__ import annotations

import time
from pathlib import Path

from bed import needs
from bed.cell import Cell
from bed.errors import TestbedError
from bed.network_bed import NetworkBed, Wishes

VOLUME = "bed"
# As GlusterFS comes, close() returns before the data are on the server and hides that they never
# get there, and what one mount wrote another sees a second later or, with files kept in the page
# cache, never; its cache of attributes even gives a writer a wrong size of its own file.
# Write-behind and the kernel's pages within an open file remain.
OPTIONS = {
    "performance.flush-behind": "off",
    "performance.stat-prefetch": "off",
    "performance.quick-read": "off",
    "performance.open-behind": "off",
    "performance.io-cache": "off",
}


# What a client says of its connection to a server, counted from 0, in files below its mount.
SAID_BY_CLIENT = f".meta/graphs/active/{VOLUME}-client-{{}}/private"
WITH_A_CONNECTION = ["sh", "-c", 'grep -ls "^connected = 1$" "$@" || :', "sh"]


class Gluster(NetworkBed):
    private_directories = ("/run", "/var/lib/glusterd", "/var/log/glusterfs")
    layout: tuple[str, ...] = ()
    more_options: tuple[str, ...] = ()
    file_system: str

    def need(self, wishes: Wishes) -> None:
        needs.check(
            self.name, ["ip", "tc", "nsenter", "glusterd", "gluster", "glusterfs"], [], fuse=True
        )
        needs.check_directories(self.name, self.private_directories)
        needs.check_delay(self.name, wishes.latency_us)

    def serve(self, wishes: Wishes) -> None:
        for cell in self.server_cells:
            cell.run(["glusterd", "-p", "/run/glusterd.pid", "-L", "WARNING"])
        for cell in self.server_cells:
            self._until(cell, "answer", ["peer", "status"], lambda text: True)
        for number in range(2, self.servers + 1):
            self._gluster("peer", "probe", self.address(number))
        joined = "Peer in Cluster (Connected)"
        for cell in self.server_cells:
            self._until(
                cell,
                "meet",
                ["peer", "status"],
                lambda text: text.count(joined) == self.servers - 1,
            )
        self._make_volume()

    def _make_volume(self) -> None:
        bricks = []
        for number in range(1, self.servers + 1):
            bricks.append(f"{self.address(number)}:{self.own(number) / 'storage' / 'brick'}")
        self._gluster("volume", "create", VOLUME, *self.layout, *bricks, "force")
        options = (word for option in OPTIONS.items() for word in option)
        self._gluster("volume", "set", VOLUME, *options, *self.more_options)
        self._gluster("volume", "start", VOLUME)

    def _gluster(self, *arguments: str) -> str:
        return self._ask(self.server_cells[0], [*arguments])

    def _ask(self, cell: Cell, arguments: list[str]) -> str:
        return cell.run(["gluster", "--mode=script", *arguments])

    def _until(
        self, cell: Cell, what: str, question: list[str], satisfied: object, timeout_s: float = 120
    ) -> None:
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            try:
                if satisfied(self._ask(cell, question)):
                    return
            except TestbedError:
                pass
            time.sleep(0.1)
        raise TestbedError(
            f"{self.name}: the servers do not {what} within {timeout_s:g} s; logs are in"
            f" {self.directory}"
        )

    def mount_one(self, cell: Cell, point: Path, log: Path, client: str) -> None:
        server = [
            f"--volfile-server={self.address(1)}",
            f"--volfile-id={VOLUME}",
            "--fopen-keep-cache=off",
        ]
        options = [
            "--process-name",
            "fuse",
            "-L",
            "WARNING",
            "-l",
            str(log),
            "-p",
            str(log.with_suffix(".pid")),
        ]
        cell.run(["glusterfs", *server, *options, str(point)])

    def not_reached(self, cell: Cell, point: Path) -> list[str]:
        """By what the client says of itself in `.meta`. A dispersed volume answers as soon as all
        servers but one do; what is written then lacks its part on that one, and a client that lacks
        another cannot open it: EIO."""
        servers = [f"server{number}" for number in range(1, self.servers + 1)]
        said_in = [str(point / SAID_BY_CLIENT.format(number)) for number in range(self.servers)]
        try:
            connected = cell.run([*WITH_A_CONNECTION, *said_in], timeout_s=10).splitlines()
        except TestbedError:
            return servers
        return [name for name, file in zip(servers, said_in, strict=True) if file not in connected]

    def check(self, record: dict) -> dict:
        return {**super().check(record), "client": "fuse", "file_system": self.file_system}


class Single(Gluster):
    name = "single"
    servers = 1
    network = 2
    file_system = "GlusterFS, one brick on one server"


class Striped(Gluster):
    """All parts but one are data and one is redundancy: each stripe lies on all servers, 512 bytes
    on each."""

    name = "striped"
    network = 3
    # With writes in parallel, files that two processes write lose their descriptors now and then:
    # fsync and close fail with EBADF (GlusterFS 10.3).
    more_options = ("disperse.parallel-writes", "off")

    @property
    def servers(self) -> int:
        record = self.room.record(self.name)
        return record["servers"] if record else 0

    @property
    def layout(self) -> tuple[str, ...]:
        return ("disperse-data", str(self.servers - 1), "redundancy", "1")

    @property
    def file_system(self) -> str:
        return f"GlusterFS, dispersed {self.servers - 1}+1 over {self.servers} servers"

    def check(self, record: dict) -> dict:
        """A dispersed volume drops the lock of a closed file only once that has been idle for a
        second; HDF5 locks what it opens and gives up at once. Without the delay
        (disperse.eager-lock off) the volume is as slow as one server.
        """
        return {**super().check(record), "environment": {"HDF5_USE_FILE_LOCKING": "FALSE"}}
