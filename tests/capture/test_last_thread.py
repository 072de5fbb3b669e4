"""A thread that records nothing ends the process: what is only known at the end is written all the
same, and is about the thread with which the run began."""

PRINTS = 100


def test_a_thread_that_used_no_file_writes_what_is_known_at_the_end(program, capture):
    done = capture(program("last_thread"))
    assert done.returncode == 7, done.stderr
    of_main, of_last = sorted(done.streams, key=lambda stream: stream.header["start"])
    assert of_last.meta["processes_started"] == "3"
    (number,) = [number for number, path in of_main.paths.items() if path.endswith(b"/kept")]
    assert of_last.counted("write", number) == (PRINTS, 2 * PRINTS)
    begin = [int(word) for word in of_main.meta["usage_begin"].split()]
    end = [int(word) for word in of_last.meta["usage_end"].split()]
    assert begin[0] == end[0]  # the thread; then for how long it ran
    assert begin[1] < end[1]
    assert begin[-1] < end[-1]  # and for how long all threads ran
    assert of_main.header["closed"] and of_last.header["closed"]
