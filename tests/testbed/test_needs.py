"""What a small machine lacks for the test bed is said in one sentence, with what to do about it:
each thing is hidden in a mount namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.testbed.bed import Testbed
from tests.testbed.conftest import SBIN, require

# Over the directory of each of the paths in $HIDDEN lies one in which it is deleted; `user:NAME` is
# one whom nobody knows.
HIDE = """\
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$SCRATCH"
for path in $HIDDEN; do
    case $path in user:*)
        sed "/^${path#user:}:/d" /etc/passwd >"$SCRATCH/passwd"
        mount --bind "$SCRATCH/passwd" /etc/passwd
        continue
    esac
    directory=$(dirname "$path")
    own=$SCRATCH/$(basename "$path")
    mkdir "$own" "$own/upper" "$own/work"
    layers="lowerdir=$directory,upperdir=$own/upper,workdir=$own/work"
    mount -t overlay -o "$layers" overlay "$directory"
    rm -r "$path"
done
exec "$@"
"""


def up_without(testbed: Testbed, scratch: Path, *hidden: str) -> subprocess.CompletedProcess[str]:
    """`testbed up nfs` where these are not there."""
    scratch.mkdir()
    words = ["unshare", "--mount", "sh", "-c", HIDE, "sh", *testbed.command("up", "nfs")]
    variables = {"SCRATCH": str(scratch), "HIDDEN": " ".join(hidden)}
    return subprocess.run(words, capture_output=True, text=True, env=os.environ | variables)


def place_of(program: str) -> str:
    return str(Path(shutil.which(program, path=SBIN) or "").resolve())


def description_of(library: str) -> str:
    """The file by which pkg-config knows it."""
    question = ["pkg-config", "--variable=pcfiledir", library]
    directory = subprocess.run(question, capture_output=True, text=True, check=True).stdout.strip()
    return f"{directory}/{library}.pc"


MISSING = {
    "rpcbind": (
        lambda: place_of("rpcbind"),
        "nfs needs rpcbind, which is not installed",
        "apt-get install rpcbind",
    ),
    "server": (
        lambda: place_of("ganesha.nfsd"),
        "nfs needs ganesha.nfsd, which is not installed",
        "apt-get install nfs-ganesha nfs-ganesha-vfs",
    ),
    "mtab": (
        lambda: "/etc/mtab",
        "nfs needs /etc/mtab, where nfs-ganesha looks for the file system that it is to serve, and"
        " there is none",
        "ln -s /proc/self/mounts /etc/mtab",
    ),
    "netconfig": (
        lambda: "/etc/netconfig",
        "nfs needs /etc/netconfig, from which rpcbind and nfs-ganesha know what kinds of network"
        " there are, and there is none",
        "apt-get install libtirpc-common",
    ),
    "FUSE": (
        lambda: "/dev/fuse",
        "nfs needs FUSE, and there is no /dev/fuse",
        "modprobe fuse; in a container, it has to be run with --privileged",
    ),
    "library": (
        lambda: description_of("libnfs"),
        "nfs needs the library libnfs with its headers",
        "apt-get install libnfs-dev",
    ),
    "directory": (
        lambda: "/var/log/ganesha",
        "nfs needs the directory /var/log/ganesha, over which its servers see their own",
        "mkdir -p /var/log/ganesha",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_is_said_with_what_to_do(
    testbed: Testbed, tmp_path: Path, name: str
) -> None:
    require("nfs")
    place, sentence, hint = MISSING[name]
    answer = up_without(testbed, tmp_path / "scratch", place())
    assert answer.stderr == f"testbed: {sentence}\n\nhint: {hint}\n"
    assert (answer.returncode, answer.stdout) == (2, "")
    assert not testbed.directory.exists()


def module_of_ganesha() -> str:
    found = [*Path("/usr/lib").glob("*/ganesha/libfsalvfs.so")]
    if not found:
        pytest.skip("nfs-ganesha's module is not where Debian has it")
    return str(found[0])


STARTED_IN_VAIN = {
    "module": (
        module_of_ganesha,
        "nfs: nfs-ganesha does not serve: Failed to load module (",
        "hint: apt-get install --reinstall nfs-ganesha nfs-ganesha-vfs\n",
    ),
    "user": (
        lambda: "user:_rpc",
        "nfs: rpcbind has ended as soon as it had started\n",
        "hint: apt-get install --reinstall rpcbind, with which its user _rpc comes\n",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STARTED_IN_VAIN)
def test_a_server_that_starts_in_vain_is_named_at_once(
    testbed: Testbed, tmp_path: Path, name: str
) -> None:
    """Not by a client that gives up, for whatever reason, after 20 seconds."""
    require("nfs")
    hidden, sentence, hint = STARTED_IN_VAIN[name]
    answer = up_without(testbed, tmp_path / "scratch", hidden())
    assert f"testbed: {sentence}" in answer.stderr
    assert hint in answer.stderr
    assert (answer.returncode, answer.stdout) == (1, "")
    assert testbed.nothing_is_left()
