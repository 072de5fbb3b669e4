"""Who ends a process may be another thread than the first, which makes no call: the run begins with
the program all the same."""

import pytest

WAYS = {"exit": 7, "_exit": 7, "quick_exit": 7, "kill": -9, "last": 0, "return": 0}


@pytest.mark.parametrize("way", WAYS)
def test_the_main_threads_stream_begins_with_the_program(program, capture, way):
    done = capture(program("worker_ends"), way)
    assert done.returncode == WAYS[way]
    main, worker = sorted(done.streams, key=lambda stream: stream.header["thread"])
    assert (main.header["flags"] & 1, worker.header["flags"] & 1) == (1, 0)
    assert not main.of("write") and len(worker.of("write")) == 100
    earlier = worker.header["start"] - main.header["start"]
    assert earlier >= 0.19 * main.header["ticks_per_s"]
    assert main.header["closed"] == (way != "kill")
