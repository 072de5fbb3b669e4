"""Children that no fork makes, of a process that has made no call on a file yet: what they do is
neither taken for the parent's nor for another thread's, and the parent's is recorded."""

import os

import pytest


@pytest.mark.parametrize("way", ["clone", "shared", "clone3", "raw"])
def test_what_a_child_does_is_not_its_parents(program, capture, tmp_path, way):
    done = capture(program("clones"), way)
    assert done.returncode == 0
    assert (tmp_path / "child").stat().st_size == 800
    assert {call.path for call in done.stream.of("write")} == {os.fsencode(tmp_path / "parent")}
    assert len(done.stream.of("write")) == 100
    assert done.stream.header["flags"] & 1 and done.stream.header["lost"] == 0
