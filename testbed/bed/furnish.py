"""What a node finds that another does not: its own /dev/shm, /etc, disk and clock.

All of it is mounted in the node's mount namespace and goes with it, disks included: a loop device
lets go of its file once nothing is mounted from it.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from bed import system
from bed.cell import Cell
from bed.errors import TestbedError

DISK_BYTES = 8 << 30
THROTTLE = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
DRIFT_SOURCE = Path(__file__).resolve().parent.parent / "clock" / "drift.c"
DRIFT_FILE = "/etc/testbed-drift"


def furnish(cell: Cell, room: Path, own: Path, disk: Path, hosts: str) -> None:
    """`room` is the test bed's directory, where each node mounts file systems for itself; `disk`,
    the same path on all, shows the node's directory `own`/disk."""
    own.mkdir()
    (own / "disk").mkdir()
    private = own / "etc"
    private.mkdir()
    quoted = {
        name: shlex.quote(str(path))
        for name, path in {
            "room": room, "private": private, "own_disk": own / "disk", "disk": disk
        }.items()
    }  # fmt: skip
    cell.run(["sh", "-ec", SCRIPT.format(**quoted, hosts=shlex.quote(hosts), name=cell.node)])


# What the machine mounts on the test bed's directory later must not reach the node; /sys shows the
# network of whoever mounted it.
SCRIPT = """\
mount --bind {room} {room}
mount --make-private {room}
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t tmpfs tmpfs {private}
mkdir {private}/upper {private}/work
mount -t overlay -o lowerdir=/etc,upperdir={private}/upper,workdir={private}/work overlay /etc
mkdir {private}/cgroup
mount --rbind /sys/fs/cgroup {private}/cgroup
mount -t sysfs sysfs /sys
mount --rbind {private}/cgroup /sys/fs/cgroup
printf %s {hosts} >/etc/hosts
echo {name} >/etc/hostname
chmod 1777 {own_disk}
mount --bind {own_disk} {disk}
"""

# --- a disk of a stated rate ---


def can_throttle() -> bool:
    """By the first version of control groups, whose root throttles a device for everybody: written
    pages of the second's would have to be a node's."""
    return THROTTLE.exists()


def mount_disk(cell: Cell, own: Path, disk: Path, rate_bytes_per_s: int) -> None:
    """Over the node's directory: a file system on a device of its own. Nothing else uses the
    device, and so nothing else is throttled."""
    image = own / "disk.img"
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    system.run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=1", "-m", "0", str(image)])
    cell.run(["mount", "-o", "loop", str(image), str(disk)])
    cell.run(["chmod", "1777", str(disk)])
    number = cell.run(["stat", "--format=%Hd:%Ld", str(disk)]).strip()
    (own / "disk.device").write_text(number)
    throttle(number, rate_bytes_per_s)


def show_disk(own: Path, disk: Path) -> None:
    """Outside too, where the node has it: who prepares and verifies files is not on the node."""
    record = own / "disk.device"
    if record.exists():  # a loop device has no partitions: its second number is its name's
        device = f"/dev/loop{record.read_text().partition(':')[2]}"
        system.run(["mount", device, str(disk)])
    else:
        system.mount(str(own / "disk"), str(disk), flags=system.MS_BIND)


def throttle(device: str, rate_bytes_per_s: int) -> None:
    """0: not at all."""
    for way in ("read", "write"):
        THROTTLE.with_name(f"blkio.throttle.{way}_bps_device").write_text(
            f"{device} {rate_bytes_per_s}"
        )


def let_disk_go(own: Path) -> None:
    """The device of a node that has ended is the machine's again, and must not stay slow."""
    record = own / "disk.device"
    if record.exists():
        throttle(record.read_text(), 0)


# --- a clock that drifts ---


def build_drift(library: Path) -> None:
    command = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o"]
    done = subprocess.run(
        [*command, str(library), str(DRIFT_SOURCE), "-ldl"], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise TestbedError(f"the clock that drifts cannot be compiled: {done.stderr.strip()}")


def set_drift(cell: Cell, library: Path, drift_ppb: int) -> None:
    """For whatever starts on the node from now on."""
    origin = "from time import clock_gettime_ns as now; print(now(1))"
    origin_ns = int(cell.run(["python3", "-c", origin]))
    text = f"{drift_ppb} {origin_ns}"
    cell.run(
        ["sh", "-ec", f"echo {text} >{DRIFT_FILE}; echo {shlex.quote(str(library))}"
         " >/etc/ld.so.preload"]
    )  # fmt: skip
