"""Writes one byte to /dev/null again and again: `python_loop.py CALLS DEPTH`, where the call is so
many functions deep. Prints nanoseconds of processor time a call, of the fastest of ten loops."""

import os
import sys
import time


def loop(file: int, calls: int) -> float:
    begin = time.process_time_ns()
    for _ in range(calls):
        os.write(file, b"x")
    return (time.process_time_ns() - begin) / calls


def deeper(depth: int, file: int, calls: int) -> float:
    return deeper(depth - 1, file, calls) if depth > 1 else loop(file, calls)


calls, depth = map(int, sys.argv[1:])
null = os.open("/dev/null", os.O_WRONLY)
print(min(deeper(depth, null, calls // 10) for _ in range(10)))
