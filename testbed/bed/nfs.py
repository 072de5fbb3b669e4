"""`nfs`: nfs-ganesha serves one directory; the kernel's client mounts it, or ours where it has
none."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from pathlib import Path

from bed import needs, system
from bed.cell import Cell
from bed.errors import TestbedError
from bed.network_bed import NetworkBed, Wishes

SOURCES = Path(__file__).resolve().parent.parent / "nfs_client"
NFS_PORT, MOUNT_PORT = 2049, 20048
EXPORT = "/data"

# The namespace has no rpcbind: both ports are fixed and told to the client. Locks stay with the
# client (as with the mount option nolock), for NLM wants rpcbind and statd.
CONFIGURATION = """\
NFS_CORE_PARAM {{ NFS_Port = {nfs_port}; MNT_Port = {mount_port}; Protocols = 3, 4;
    Enable_NLM = false; Enable_RQUOTA = false; mount_path_pseudo = true; }}
NFSv4 {{ Graceless = true; }}
EXPORT {{ Export_Id = 1; Path = "{storage}"; Pseudo = "{export}"; Filesystem_Id = 78.1;
    Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Protocols = 3, 4; Transports = TCP;
    MaxRead = 1048576; MaxWrite = 1048576; PrefRead = 1048576; PrefWrite = 1048576;
    FSAL {{ Name = VFS; }} }}
"""


# In nfs-ganesha's log: of what it needs and does not have.
GIVES_UP = re.compile(r":(?:MAJ|FATAL) :(.*)")
# What Debian's packages leave to others, which a small machine may lack.
FILES = {
    "/etc/mtab": (
        "where nfs-ganesha looks for the file system that it is to serve",
        "ln -s /proc/self/mounts /etc/mtab",
    ),
    "/etc/netconfig": (
        "from which rpcbind and nfs-ganesha know what kinds of network there are",
        "apt-get install libtirpc-common",
    ),
}


class Nfs(NetworkBed):
    name = "nfs"
    servers = 1
    network = 1
    private_directories = ("/run", "/var/lib/nfs", "/var/log/ganesha")

    @staticmethod
    def client(wished: str) -> str:
        """`kernel` or `fuse`."""
        if wished == "kernel" and not needs.kernel_has_nfs():
            raise TestbedError(
                "the kernel has no client of NFS, or there is no mount.nfs",
                "--client fuse; or install nfs-common",
                2,
            )
        return wished if wished != "auto" else "kernel" if needs.kernel_has_nfs() else "fuse"

    def need(self, wishes: Wishes) -> None:
        fuse = self.client(wishes.client) == "fuse"
        programs = ["ip", "tc", "nsenter", "rpcbind", "ganesha.nfsd"] + ["cc", "pkg-config"] * fuse
        needs.check(self.name, programs, ["fuse3", "libnfs"] * fuse, fuse)
        needs.check_files(self.name, FILES)
        needs.check_delay(self.name, wishes.latency_us)
        needs.check_directories(self.name, self.private_directories)

    def serve(self, wishes: Wishes) -> None:
        if self.client(wishes.client) == "fuse":
            self._build_client()
        configuration = self.own(1) / "ganesha.conf"
        configuration.write_text(
            CONFIGURATION.format(
                nfs_port=NFS_PORT,
                mount_port=MOUNT_PORT,
                storage=self.own(1) / "storage",
                export=EXPORT,
            )
        )
        # in the private /run; without it ganesha does not start
        self.server_cells[0].run(["rpcbind"])
        command = [
            "ganesha.nfsd",
            "-f",
            str(configuration),
            "-L",
            str(self._ganesha_log),
            "-p",
            "/run/ganesha.pid",
            "-N",
            "EVENT",
        ]
        self.server_cells[0].run(command)

    @property
    def _ganesha_log(self) -> Path:
        return self.directory / "log" / "ganesha.log"

    def check_servers(self) -> None:
        """Both return before they know whether they can do what they are there for."""
        running = system.names_below(self.server_cells[0].pid() or 0)
        if "rpcbind" not in running:
            raise TestbedError(
                f"{self.name}: rpcbind has ended as soon as it had started",
                "apt-get install --reinstall rpcbind, with which its user _rpc comes",
            )
        log = self._ganesha_log
        said = GIVES_UP.search(log.read_text() if log.exists() else "")
        if said or "ganesha.nfsd" not in running:
            raise TestbedError(
                f"{self.name}: nfs-ganesha does not serve: {said[1] if said else 'it has ended'}",
                "apt-get install --reinstall nfs-ganesha nfs-ganesha-vfs",
            )

    def _build_client(self) -> None:
        """A second's work, and so never one of another version. In the cell, so that it ends with
        it."""
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "fuse3", "libnfs"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        sources = sorted(str(path) for path in SOURCES.glob("*.c"))
        options = [
            "-std=gnu11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-D_GNU_SOURCE",
            "-D_FILE_OFFSET_BITS=64",
        ]
        options += shlex.split(os.environ.get("CFLAGS", ""))
        command = ["cc", *options, "-o", str(self.directory / "nfs_client"), *sources, *flags]
        self.hub.run(command, environment={"TMPDIR": str(self.directory)})

    def mount_one(self, cell: Cell, point: Path, log: Path, client: str) -> None:
        mount = self._mount_by_kernel if self.client(client) == "kernel" else self._mount_by_fuse
        end = time.monotonic() + 20
        while True:
            try:
                return mount(cell, point, log)
            except TestbedError:  # the server is still starting
                self.check_servers()
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def _mount_by_fuse(self, cell: Cell, point: Path, log: Path) -> None:
        ports = [str(NFS_PORT), str(MOUNT_PORT)]
        program = str(self.directory / "nfs_client")
        cell.run([program, self.address(1), *ports, EXPORT, str(point), str(log)])

    def _mount_by_kernel(self, cell: Cell, point: Path, log: Path) -> None:
        options = f"vers=3,proto=tcp,mountproto=tcp,nolock,port={NFS_PORT},mountport={MOUNT_PORT}"
        cell.run(["mount", "-t", "nfs", "-o", options, f"{self.address(1)}:{EXPORT}", str(point)])

    def check(self, record: dict) -> dict:
        client = record["client"]
        return {
            **super().check(record),
            "client": client,
            "file_system": f"NFS 3, {client} client, nfs-ganesha",
        }
