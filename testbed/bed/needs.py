"""What a bed needs and how to get it: one sentence for the first thing that is missing."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

from bed import system
from bed.errors import TestbedError

PACKAGE_OF_PROGRAM = {
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "rpcbind": "rpcbind",
    "ganesha.nfsd": "nfs-ganesha nfs-ganesha-vfs",
    "mount.nfs": "nfs-common",
    "cc": "gcc libc6-dev",
    "pkg-config": "pkg-config",
    "glusterd": "glusterfs-server",
    "gluster": "glusterfs-cli",
    "glusterfs": "glusterfs-client",
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sinfo": "slurm-client",
    "mkfs.ext4": "e2fsprogs",
}
FUSE_MAJOR = 10
PACKAGE_OF_LIBRARY = {"fuse3": "libfuse3-dev", "libnfs": "libnfs-dev"}


def check(name: str, programs: list[str], libraries: list[str], fuse: bool) -> None:
    """Raises TestbedError where something is missing for the bed `name`."""
    _check_programs(name, programs)
    _check_libraries(name, libraries)
    if os.geteuid() != 0:
        raise TestbedError(
            f"{name} needs root: it makes namespaces and mounts", "run it with sudo", 2
        )
    if fuse:
        _check_fuse(name)
    _check_namespaces(name)


def _check_programs(name: str, programs: list[str]) -> None:
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        packages = dict.fromkeys(PACKAGE_OF_PROGRAM[program] for program in missing)
        raise TestbedError(
            f"{name} needs {_listed(missing)}, which {'is' if len(missing) == 1 else 'are'} not"
            " installed",
            f"apt-get install {' '.join(packages)}",
            2,
        )


def _check_libraries(name: str, libraries: list[str]) -> None:
    for library in libraries:
        if subprocess.run(["pkg-config", "--exists", library]).returncode != 0:
            raise TestbedError(
                f"{name} needs the library {library} with its headers",
                f"apt-get install {PACKAGE_OF_LIBRARY[library]}",
                2,
            )


def _check_fuse(name: str) -> None:
    """A container without the device, or one that may not open it, is what is met most."""
    in_container = "in a container, it has to be run with --privileged"
    try:
        device = Path("/dev/fuse").stat()
        if not stat.S_ISCHR(device.st_mode) or os.major(device.st_rdev) != FUSE_MAJOR:
            raise TestbedError(
                f"{name} needs FUSE, and /dev/fuse is not its device",
                "rm /dev/fuse; mknod /dev/fuse c 10 229",
                2,
            )
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except FileNotFoundError:
        raise TestbedError(
            f"{name} needs FUSE, and there is no /dev/fuse", f"modprobe fuse; {in_container}", 2
        ) from None
    except OSError as error:
        raise TestbedError(
            f"{name} needs FUSE, and /dev/fuse cannot be opened: {error.strerror}", in_container, 2
        ) from None


def check_files(name: str, files: dict[str, tuple[str, str]]) -> None:
    """`files`: what each is to whom, and how to get it."""
    for path, (purpose, hint) in files.items():
        if not Path(path).exists():
            raise TestbedError(f"{name} needs {path}, {purpose}, and there is none", hint, 2)


def check_directories(name: str, paths: Iterable[str]) -> None:
    """Those over which a server sees its own: without one it would use what it makes itself there,
    which would be the machine's."""
    missing = [path for path in paths if not Path(path).is_dir()]
    if missing:
        raise TestbedError(
            f"{name} needs the director{'y' if len(missing) == 1 else 'ies'} {_listed(missing)},"
            " over which its servers see their own",
            f"mkdir -p {' '.join(missing)}",
            2,
        )


def _check_namespaces(name: str) -> None:
    child = os.fork()
    if child == 0:
        try:
            system.unshare(system.CLONE_NEWNET | system.CLONE_NEWNS | system.CLONE_NEWPID)
            os._exit(0)
        except OSError:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise TestbedError(
            f"{name} needs namespaces, and this system does not let root make them",
            "in a container, it has to be run with --privileged",
            2,
        )


def check_delay(name: str, latency_us: int | None) -> None:
    """Raises TestbedError where links are to have a distance, and nothing can give it to them."""
    if latency_us is None:
        return
    _check_programs(name, ["cc"])
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "--quiet", "tun"], capture_output=True)
    if not Path("/dev/net/tun").exists():
        raise TestbedError(
            f"--latency of {name} needs network devices that a program makes, and there is no"
            " /dev/net/tun",
            "a kernel with CONFIG_TUN; or leave --latency out",
            2,
        )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def kernel_has_nfs() -> bool:
    """Whether the kernel has a client of NFS, loading its module where there is one, and the
    program to mount it."""
    if shutil.which("modprobe"):
        subprocess.run(["modprobe", "--quiet", "nfs"], capture_output=True)
    kinds = Path("/proc/filesystems").read_text().split()
    return "nfs" in kinds and shutil.which("mount.nfs") is not None
