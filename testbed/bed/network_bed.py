"""What the beds with servers have in common: a hub, servers behind shaped links, mounts that reach
them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from bed import delay, links, mounts
from bed.cell import Cell
from bed.errors import TestbedError
from bed.room import Room

LONGEST_CONNECT_S, LONGEST_LOOK_S = 60, 1


@dataclass(frozen=True)
class Wishes:
    """What `up` was asked for."""

    rate_bit_per_s: int | None
    mounts: int
    capacity_bytes: int | None
    client: str
    nodes: int
    cpus_per_node: int
    servers: int = 4
    latency_us: int | None = None
    drift_ppm: float = 0
    disk_bytes_per_s: int | None = None
    slurm: bool = False


class NetworkBed:
    """Subclasses say how a server starts, what happens once all have, and how a mount is made."""

    name: str
    servers: int
    # the third part of its addresses
    network: int
    # what a server keeps where it would keep it on a machine of its own
    private_directories: tuple[str, ...]

    def __init__(self, room: Room) -> None:
        self.room = room
        self.directory = room.of(self.name)

    @property
    def hub(self) -> Cell:
        """Clients live here, and mount where everybody sees it."""
        return Cell(self.directory / "cells" / "hub", mount=False)

    @property
    def server_cells(self) -> list[Cell]:
        return [
            Cell(self.directory / "cells" / f"server{number}")
            for number in range(1, self.servers + 1)
        ]

    def address(self, number: int) -> str:
        """Of a server, counted from 1."""
        return links.address(self.network, number)

    def addresses(self) -> list[str]:
        """Of the hub and of each server."""
        return [self.address(number) for number in range(self.servers + 1)]

    def mount_points(self, count: int) -> list[Path]:
        return [self.directory / "mnt" / str(number) for number in range(count)]

    # --- up ---

    def up(self, wishes: Wishes) -> None:
        self.hub.start(self.room.lock)
        links.make_hub(self.hub, self.network)
        delayed = delay.command(self.hub, self.directory, wishes.latency_us)
        for number, cell in enumerate(self.server_cells, 1):
            self._start_cell(number, cell, wishes.capacity_bytes)
            links.join(self.hub, cell, f"server{number}", self.address(number), delayed)
        links.shape(self.hub, self.server_cells, "server", wishes.rate_bit_per_s)
        self.serve(wishes)
        self.mount(wishes)

    def _start_cell(self, number: int, cell: Cell, capacity_bytes: int | None) -> None:
        own = self.own(number)
        storage = own / "storage"
        storage.mkdir(parents=True)
        binds = []
        for path in self.private_directories:
            private = own / path.strip("/").replace("/", "-")
            private.mkdir()
            binds.append((private, path))
        cell.start(self.room.lock, binds, (storage, capacity_bytes) if capacity_bytes else None)

    def own(self, number: int) -> Path:
        """The directory of one server: its storage, its configuration, its state."""
        return self.directory / f"server{number}"

    def mount(self, wishes: Wishes) -> None:
        """Those mounts that are not there yet."""
        for number, point in enumerate(self.mount_points(wishes.mounts)):
            if not mounts.mounted_below(point):
                point.mkdir(exist_ok=True)
                log = self.directory / "log" / f"client{number}.log"
                self.mount_one(self.hub, point, log, wishes.client)
                mounts.wait_until_it_answers(point, self.check_servers)
                self.wait_until_whole(self.hub, point, LONGEST_CONNECT_S)

    def serve(self, wishes: Wishes) -> None:
        raise NotImplementedError

    def check_servers(self) -> None:
        """Raises TestbedError with what one of them lacks, once it has ended over it."""

    def mount_one(self, cell: Cell, point: Path, log: Path, client: str) -> None:
        """A client in `cell`, which is on the bed's network."""
        raise NotImplementedError

    def not_reached(self, cell: Cell, point: Path) -> list[str]:
        """Servers without which the client in `cell` answers all the same."""
        return []

    def wait_until_whole(self, cell: Cell, point: Path, longest_s: float) -> None:
        """Raises TestbedError with the servers that the client in `cell` does not reach by then."""
        end = time.monotonic() + longest_s
        while missing := self.not_reached(cell, point):
            if time.monotonic() > end:
                client = f"the client of {cell.node}" if cell.node else "the client outside nodes"
                raise TestbedError(
                    f"{client} does not reach {', '.join(missing)} of {self.name}",
                    f"its log in {self.directory / 'log'} may say why",
                )
            time.sleep(0.1)

    def change(self, wishes: Wishes) -> None:
        """Of a bed that is up: another rate, more mounts."""
        links.shape(self.hub, self.server_cells, "server", wishes.rate_bit_per_s)
        self.mount(wishes)

    # --- down ---

    def cells(self) -> list[Cell]:
        """All that were ever signed: also those of an `up` that was killed."""
        records = (self.directory / "cells").glob("*") if self.directory.is_dir() else []
        return [Cell(path) for path in records if path.suffix != ".new"]

    def down(self, force: bool) -> None:
        """First what programs have written goes to the servers; then the servers end, and what
        remains mounted goes."""
        mounts.unmount_below(self.directory, force)
        for cell in self.cells():
            cell.end()
        mounts.unmount_below(self.directory, force=True)

    # --- status ---

    def check(self, record: dict) -> dict:
        """What stands, for `status`. Raises TestbedError with what does not."""
        for cell in (self.hub, *self.server_cells):
            if cell.pid() is None:
                raise TestbedError(f"{cell.record.name} has ended")
        points = self.mount_points(record["mounts"])
        for point in points:
            if not mounts.mounted_below(point) or not mounts.answers(point):
                raise TestbedError(f"{point} does not answer")
            self.wait_until_whole(self.hub, point, LONGEST_LOOK_S)
        rate = links.rate_in_force(self.hub, self.server_cells, "server")
        return {
            "mounts": [str(point) for point in points],
            "rate_bit_per_s": rate,
            "servers": self.servers,
        }
