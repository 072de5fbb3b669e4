"""Keeps a core busy until it is ended, as a rank does that waits in MPI and is bound to it. Run by
its path, with nothing of Tailrace, so that it starts quickly.

    polling.py PARENT CORE

It says when it begins, and ends by itself when PARENT, who started it, is gone.
"""

import os
import sys

# So many looks at nothing between two at the parent, which ask the kernel.
LOOKS = 100_000


def main() -> None:
    parent, core = map(int, sys.argv[1:])
    os.sched_setaffinity(0, {core})
    print(flush=True)
    while os.getppid() == parent:
        for _ in range(LOOKS):
            pass


if __name__ == "__main__":
    main()
