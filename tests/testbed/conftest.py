"""Beds for the tests: one of each kind for the session, with two mounts; fresh directories for
tests that need them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.testbed.bed import Testbed

NETWORK_BEDS = ["nfs", "single", "striped"]
PROGRAMS = {
    "nfs": ["ganesha.nfsd", "cc", "pkg-config"],
    "single": ["glusterd", "glusterfs", "gluster"],
    "striped": ["glusterd", "glusterfs", "gluster"],
    "slurm": ["munged", "slurmctld", "slurmd", "sinfo"],
    "local": [],
    "cluster": ["ip", "tc", "nsenter"],
}
SBIN = os.environ["PATH"] + ":/usr/sbin:/sbin"


def require(name: str) -> None:
    """Skips, and says why, where the bed cannot be brought up here."""
    missing = [program for program in PROGRAMS[name] if not shutil.which(program, path=SBIN)]
    if missing:
        pytest.skip(f"the test bed {name} needs {', '.join(missing)}")
    if (
        name == "nfs"
        and subprocess.run(["pkg-config", "--exists", "libnfs", "fuse3"]).returncode != 0
    ):
        pytest.skip("the test bed nfs needs libnfs-dev and libfuse3-dev")
    if name != "local" and os.geteuid() != 0:
        pytest.skip("the test bed needs root")
    if name in NETWORK_BEDS and not Path("/dev/fuse").exists():
        pytest.skip("the test bed needs FUSE: there is no /dev/fuse")
    if (
        subprocess.run(
            ["unshare", "--net", "--mount", "--pid", "--fork", "true"], capture_output=True
        ).returncode
        != 0
    ):
        pytest.skip("the test bed needs namespaces")


@dataclass(frozen=True)
class Mounted:
    """A directory on a bed, by two mounts: `here` and `there` are the same on the server."""

    name: str
    here: Path
    there: Path
    environment: dict[str, str]


@pytest.fixture(scope="session")
def session_beds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], dict]]:
    """Brings a bed up at its first use. Shaped to 800 Mb/s: the tests of contents are not about the
    rate."""
    testbed = Testbed(tmp_path_factory.mktemp("beds") / "bed")
    standing: dict[str, dict] = {}

    def bed(name: str) -> dict:
        require(name)
        if name not in standing:
            standing[name] = testbed.up(name, "--mounts", "2", "--rate", "800mbit")
        return standing[name]

    yield bed
    if standing:
        testbed.down()
        assert testbed.nothing_is_left()


@pytest.fixture(params=NETWORK_BEDS)
def mounted(request: pytest.FixtureRequest, session_beds: Callable[[str], dict]) -> Mounted:
    """A fresh directory on each of the network beds in turn."""
    bed = session_beds(request.param)
    here, there = map(Path, bed["mounts"])
    name = request.node.name.replace("[", "-").replace("]", "").replace("/", "-")
    (here / name).mkdir()
    return Mounted(request.param, here / name, there / name, bed.get("environment", {}))


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[Testbed]:
    """An empty one; whatever a test leaves standing is taken down."""
    made = Testbed(tmp_path / "bed")
    yield made
    made.call("down", "--force")
    assert made.nothing_is_left()
