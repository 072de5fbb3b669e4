"""`local`: a directory on the file system that the beds lie on, as what the others are compared
with."""

from __future__ import annotations

from pathlib import Path

from bed import mounts
from bed.errors import TestbedError
from bed.network_bed import Wishes
from bed.room import Room


class Local:
    name = "local"

    def __init__(self, room: Room) -> None:
        self.directory = room.of(self.name)

    def need(self, wishes: Wishes) -> None:
        """Nothing."""

    def point(self) -> Path:
        return self.directory / "mnt" / "0"

    def up(self, wishes: Wishes) -> None:
        self.point().mkdir()

    def change(self, wishes: Wishes) -> None:
        """There is nothing to change."""

    def down(self, force: bool) -> None:
        users = mounts.users_of(self.directory)
        if users and not force:
            pid, name = users[0]
            raise TestbedError(
                f"{self.directory} is in use by process {pid} ({name})", "end it, or give --force"
            )

    def check(self, record: dict) -> dict:
        if not self.point().is_dir():
            raise TestbedError(f"{self.point()} has gone")
        return {
            "mounts": [str(self.point())],
            "rate_bit_per_s": None,
            "servers": 0,
            "client": None,
            "file_system": "local",
        }
