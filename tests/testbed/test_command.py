"""The command: what it answers, that it comes up and goes down whole, and that it touches nothing
of others."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from tests.conftest import ROOT
from tests.processes import LONGEST_WAIT_S, until
from tests.testbed.bed import COMMAND, Testbed, links_outside
from tests.testbed.conftest import require

# as long as all others together, for promises that the others keep in the same way
STRIPED = pytest.param("striped", marks=pytest.mark.whole)
CLUSTER = pytest.param("cluster", marks=pytest.mark.whole)
SCHEMA = json.loads((ROOT / "docs" / "schema" / "testbed.json").read_text())


def answered(text: str) -> dict:
    answer = json.loads(text)
    jsonschema.validate(answer, SCHEMA)
    return answer


# --- without root, and without starting anything ---


def test_what_is_down(testbed: Testbed) -> None:
    everything = testbed.call("status", "--json")
    assert everything.returncode == 0
    assert {
        bed["name"]: bed["state"] for bed in answered(everything.stdout)["beds"]
    } == dict.fromkeys(["local", "nfs", "single", "striped", "slurm", "cluster"], "down")
    assert testbed.call("status", "nfs").returncode == 1
    assert testbed.call("down").returncode == 0
    assert not testbed.directory.exists()


@pytest.mark.parametrize(
    "arguments,sentence",
    [
        (["up", "lustre"], "there is no bed 'lustre'"),
        (["up", "local", "--rate", "fast"], "the rate 'fast' is not a rate of a link"),
        (["up", "local", "--rate", "10bit"], "the rate '10bit' is not a rate of a link"),
        (["up", "local", "--mounts", "0"], "'0' is not a number from 1 to 999"),
        (["up", "local", "--capacity", "much"], "'much' is not a size"),
        (["up", "striped", "--servers", "9"], "'9' is not a number from 3 to 8"),
        (["up", "cluster", "--latency", "3"], "'3' is not a time such as 200us or 1ms"),
        (["up", "cluster", "--clock-drift", "-1"], "'-1' is not a number of parts per million"),
        (["up", "cluster", "--nodes", "65"], "a cluster has at most 64 nodes"),
        (["up"], "the following arguments are required: NAME"),
    ],
)
def test_wrong_use(testbed: Testbed, arguments: list[str], sentence: str) -> None:
    answer = testbed.call(*arguments)
    assert answer.returncode == 2
    assert sentence in answer.stderr
    assert "Traceback" not in answer.stderr
    assert not testbed.directory.exists()


def test_a_directory_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    testbed = Testbed(tmp_path)
    answer = testbed.call("up", "local")
    assert answer.returncode == 2
    assert f"{tmp_path} holds something else\n" in answer.stderr
    assert testbed.call("down").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_is_missing_is_said(testbed: Testbed) -> None:
    """As on a machine on which no program is found."""
    code = "import shutil; shutil.which = lambda *words, **options: None; import runpy, sys;"
    code += " sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    command = [sys.executable, "-c", code, *testbed.command("up", "single")[1:]]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 2
    assert answer.stderr == (
        "testbed: single needs ip, tc, nsenter, glusterd, gluster and glusterfs, which are not"
        " installed\n\n"
        "hint: apt-get install iproute2 util-linux glusterfs-server glusterfs-cli"
        " glusterfs-client\n"
    )


def test_without_root(testbed: Testbed) -> None:
    require("single")
    as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if (
        subprocess.run(
            [*as_nobody, sys.executable, str(COMMAND), "--help"], capture_output=True
        ).returncode
        != 0
    ):
        pytest.skip("nobody may not run Python here")
    answer = subprocess.run(
        [*as_nobody, *testbed.command("up", "single")], capture_output=True, text=True
    )
    assert answer.returncode == 2
    assert "single needs root: it makes namespaces and mounts\n" in answer.stderr


def test_local_comes_and_goes(testbed: Testbed) -> None:
    bed = answered(testbed.done("up", "local", "--json"))["beds"][0]
    (Path(bed["mounts"][0]) / "file").write_text("data")
    assert testbed.up("local")["mounts"] == bed["mounts"]
    assert (Path(bed["mounts"][0]) / "file").read_text() == "data"
    testbed.down("local")
    assert testbed.nothing_is_left()


# --- with servers ---


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nfs", "single", STRIPED, "slurm", "cluster"])
def test_up_twice_is_up_once_and_down_leaves_nothing(testbed: Testbed, name: str) -> None:
    require(name)
    outside = links_outside()
    first = answered(testbed.done("up", name, "--json"))["beds"][0]
    standing = testbed.processes()
    assert first["state"] == "up"
    assert testbed.up(name) == first
    assert testbed.processes() == standing
    assert links_outside() == outside
    assert answered(testbed.done("status", name, "--json"))["beds"] == [first]
    assert "is not" in testbed.done("status", name)
    testbed.down(name)
    assert testbed.nothing_is_left()
    assert links_outside() == outside
    testbed.down(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["nfs", STRIPED, pytest.param("slurm", marks=pytest.mark.whole), CLUSTER]
)
def test_killed_while_coming_up(testbed: Testbed, name: str) -> None:
    """SIGKILL at any moment: `down` finds everything, and `up` starts afresh over what was left."""
    require(name)
    choice = random.Random(name)
    for turn in range(3):
        starting = subprocess.Popen(
            testbed.command("up", name), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(choice.uniform(0.05, 2.5))
        starting.send_signal(signal.SIGKILL)
        starting.wait()
        if turn == 2:
            testbed.up(name)
        testbed.down(name)
        assert testbed.nothing_is_left()


@pytest.mark.slow
def test_two_beds_at_once_are_two(tmp_path: Path) -> None:
    """Other directories are other beds: nothing of the one is seen in the other, and it outlives
    the other's end."""
    require("nfs")
    first, other = Testbed(tmp_path / "one"), Testbed(tmp_path / "other")
    try:
        here, there = (
            Path(bed.up("nfs", "--rate", rate)["mounts"][0])
            for bed, rate in ((first, "50mbit"), (other, "200mbit"))
        )
        (here / "file").write_text("one")
        (there / "file").write_text("other")
        assert (here / "file").read_text() == "one"
        assert (first.status("nfs")["rate_bit_per_s"], other.status("nfs")["rate_bit_per_s"]) == (
            50_000_000,
            200_000_000,
        )
        first.down()
        assert (there / "file").read_text() == "other"
        assert other.status("nfs")["state"] == "up"
    finally:
        for bed in (first, other):
            bed.call("down", "--force")
            assert bed.nothing_is_left()


@pytest.mark.slow
def test_two_commands_at_once_are_one_after_the_other(testbed: Testbed) -> None:
    require("nfs")
    commands = [
        subprocess.Popen(
            testbed.command("up", "nfs", "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(3)
    ]
    answers = [
        json.loads(command.communicate(timeout=LONGEST_WAIT_S)[0])["beds"][0]
        for command in commands
    ]
    assert [command.returncode for command in commands] == [0, 0, 0]
    assert answers[0] == answers[1] == answers[2]
    assert len([line for line in testbed.processes() if "nfs_client" in line]) == 1


@pytest.mark.slow
def test_a_mount_in_use_is_not_taken_away(testbed: Testbed) -> None:
    require("nfs")
    point = Path(testbed.up("nfs")["mounts"][0])
    (point / "file").write_text("data")
    user = subprocess.Popen(["sleep", "100"], cwd=point)
    try:
        answer = testbed.call("down")
        assert answer.returncode == 1
        assert f"{point} is in use by process {user.pid} (sleep)\n" in answer.stderr
        assert testbed.status("nfs")["state"] == "up"
        assert (point / "file").read_text() == "data"
        testbed.down("--force")
        assert user.poll() is None
    finally:
        user.kill()
        user.wait()
    assert testbed.nothing_is_left()


@pytest.mark.slow
def test_a_stranger_with_the_number_of_a_server_is_left_alone(testbed: Testbed) -> None:
    """After a restart of the machine, say, the numbers in a record are other processes'."""
    require("nfs")
    stranger = subprocess.Popen(["sleep", "100"])
    try:
        testbed.up("nfs")
        records = list((testbed.directory / "nfs" / "cells").iterdir())
        saved = {record: record.read_text() for record in records}
        for record in records:
            record.write_text(" ".join([str(stranger.pid), *saved[record].split()[1:]]))
        state = testbed.status("nfs")
        assert state["state"] == "broken"
        assert "has ended" in state["reason"]
        for record in records:
            record.write_text(saved[record])
        testbed.down()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nfs", pytest.param("single", marks=pytest.mark.whole)])
def test_a_server_that_dies_is_told_and_can_be_taken_down(testbed: Testbed, name: str) -> None:
    require(name)
    testbed.up(name)
    holder = int((testbed.directory / name / "cells" / "server1").read_text().split()[0])
    os.kill(holder, signal.SIGKILL)
    state = testbed.call("status", name, "--json")
    assert state.returncode == 1
    assert answered(state.stdout)["beds"][0]["state"] == "broken"
    again = testbed.call("up", name)
    assert again.returncode == 1
    assert f"{name} is broken: server1 has ended\n" in again.stderr
    testbed.down()
    assert testbed.nothing_is_left()


@pytest.mark.slow
def test_slurm_whose_holder_was_killed_can_be_taken_down(testbed: Testbed) -> None:
    """Its daemons have no namespace that would end with the holder: `down` knows them by their
    environment."""
    require("slurm")
    testbed.up("slurm")
    holder = int((testbed.directory / "slurm" / "cells" / "daemons").read_text().split()[0])
    os.kill(holder, signal.SIGKILL)
    assert testbed.status("slurm")["reason"] == "its daemons have ended"
    assert any("slurmctld" in line for line in testbed.processes())
    testbed.down()
    assert testbed.nothing_is_left()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nfs", pytest.param("single", marks=pytest.mark.whole), STRIPED])
def test_a_full_server(testbed: Testbed, name: str) -> None:
    """Whoever writes is told, at the latest when it closes; what was there stays, and space that is
    freed is space."""
    require(name)
    point = Path(testbed.up(name, "--capacity", "100mb", "--rate", "800mbit")["mounts"][0])
    kept = os.urandom(5_000_000)
    (point / "kept").write_bytes(kept)
    told = None
    try:
        with (point / "flood").open("wb", buffering=0) as flood:
            for _ in range(400):
                flood.write(bytes(1_000_000))
    except OSError as error:
        told = error.errno
    # A stripe for which only some of the servers have room is an I/O error.
    assert told in ({errno.ENOSPC, errno.EIO} if name == "striped" else {errno.ENOSPC}), told
    assert (point / "kept").read_bytes() == kept
    (point / "flood").unlink()
    until(lambda: shutil.disk_usage(point).free >= 30_000_000)
    # GlusterFS's servers look only every five seconds whether there is room again
    until(lambda: has_room(point / "after", kept))
    assert (point / "after").read_bytes() == kept


def has_room(path: Path, data: bytes) -> bool:
    try:
        path.write_bytes(data)
    except OSError as error:
        assert error.errno == errno.ENOSPC
        return False
    return True


@pytest.mark.slow
def test_more_mounts_and_another_capacity_of_a_bed_that_is_up(testbed: Testbed) -> None:
    require("nfs")
    first = testbed.up("nfs")["mounts"]
    (Path(first[0]) / "file").write_text("data")
    three = testbed.up("nfs", "--mounts", "3")["mounts"]
    assert three[:1] == first
    assert [(Path(point) / "file").read_text() for point in three] == ["data"] * 3
    refused = testbed.call("up", "nfs", "--capacity", "1gb")
    assert refused.returncode == 1
    assert "nfs is up with another --capacity" in refused.stderr


def test_the_guide_names_every_bed() -> None:
    text = (ROOT / "testbed" / "README.md").read_text()
    for name in ("local", "nfs", "single", "striped", "slurm", "cluster"):
        assert f"`{name}`" in text
