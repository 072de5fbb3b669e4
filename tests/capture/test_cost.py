"""What capture says that it took is what it took, where it took it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import pytest

# What is asked for is the right size: the rare and long, such as a call path that is unwound, is in
# what capture says, and not in the median of the calls.
RIGHT_SIZE = (0.5, 3)


@pytest.mark.measured("what capture adds to a call")
@pytest.mark.parametrize("swept", [0, 1 << 20])
def test_cost_is_that_of_the_place(swept, program, capture):
    """Where the program has filled the caches with its own data, a record takes longer."""
    done = capture(program("cost"), swept, 10_000)
    header = done.stream.header
    own_ns = header["own_ticks"] / header["ticks_per_s"] * 1e9 / len(done.stream.calls)
    added_ns = float(done.stdout)
    assert RIGHT_SIZE[0] * added_ns < own_ns < RIGHT_SIZE[1] * added_ns


def test_cost_is_known_of_a_program_that_was_killed_or_made_few_calls(program, capture):
    for words in (("exit", 1), ("kill", 300)):
        header = capture(program("life"), *words).streams[0].header
        assert 0 < header["own_ticks"] < header["ticks_per_s"]


# Where all ways were compared with each other, a write took eight times as long.
MANY_WAYS_TIMES = 4


@pytest.mark.measured("how long calls take that come in thousands of ways")
def test_thousands_of_ways_to_one_call_are_not_searched_through(program, capture, tmp_path):
    ways = program("many_ways")
    words = [ways, "12", "40"]
    bare = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    under = capture(*words, read=False)
    assert float(under.stdout) < MANY_WAYS_TIMES * float(bare.stdout)


# Each time all were forgotten, three in four calls came from nowhere.
NOWHERE_SHARE = 0.25


@pytest.mark.measured("that thousands of deep ways are learned within a second")
def test_thousands_of_deep_ways_are_kept(program, capture):
    """They are not forgotten for others that come with them again and again."""
    ways, depth = program("many_ways"), 13
    calls = [call for call in capture(ways, depth, 60).stream.calls if call.function == "pwrite"]
    last_round = calls[-(1 << depth) :]
    assert sum(not call.place for call in last_round) < NOWHERE_SHARE * len(last_round)


@pytest.mark.measured("what capture takes beside calls")
def test_a_call_with_a_record_beside_it_is_not_capture_s(program, capture):
    """A seek that writes has a record of the write, too; both take a part of what it takes."""
    done = capture(program("flushing_seeks"))
    header = done.stream.header
    assert header["own_ticks"] / header["ticks_per_s"] < 0.6 * float(done.stdout)


# Each import is called from a place of its own.
IMPORTS = """
import email.message, http.client, json, logging.config, unittest, xml.dom.minidom, resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
"""


@contextlib.contextmanager
def crowded():
    """Four others want the only processor. Gives what a command begins with to run there."""
    alone = ["taskset", "-c", "0"]
    with contextlib.ExitStack() as ended:
        for _ in range(4):
            other = subprocess.Popen([*alone, sys.executable, "-c", "while True: pass"])
            ended.callback(other.wait)
            ended.callback(other.kill)
        yield alone


@pytest.mark.measured("what capture takes beside what the program ran")
def test_waits_for_a_processor_are_not_capture_s(capture):
    """A call path takes long to unwind, by the clock."""
    with crowded() as alone:
        python = os.path.realpath(sys.executable)
        done = capture(*alone, python, "-c", IMPORTS, TAILRACE_PROGRAM=python)
    header = done.streams[0].header
    assert 0 < header["own_ticks"] / header["ticks_per_s"] < 0.7 * float(done.stdout)


@pytest.mark.measured("what capture takes beside what the program ran")
def test_waits_where_a_stream_grows_are_not_capture_s(program, capture):
    """Each name is 4 kB of the stream, so that it grows at every 16th call, and much of what the
    program runs is that. Of five on one processor each waits four times as long as it runs: with
    these waits capture would have taken longer than the program ran, all in all."""
    names = program("long_names")
    with crowded() as alone:
        done = capture(*alone, names, 20_000, TAILRACE_PROGRAM=str(names))
    header = done.streams[0].header
    assert 0 < header["own_ticks"] / header["ticks_per_s"] < float(done.stdout)
