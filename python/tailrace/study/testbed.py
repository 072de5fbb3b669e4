"""Where the test bed has mounted a file system: its own command is asked."""

import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.names import printable

COMMAND = Path(__file__).parents[3] / "testbed" / "testbed"
# The directory that `testbed up --directory` was given.
VARIABLE = "TAILRACE_TESTBED"


def mount_of(name: str) -> Path:
    """The directory of a file system of the test bed. Raises FileNotFoundError where it is not up."""
    for system in status():
        if system.get("name") == name and system.get("mount"):
            return Path(system["mount"])
    raise FileNotFoundError(name)


@lru_cache(maxsize=1)
def status() -> list[dict[str, Any]]:
    """What the test bed says of each of its file systems; nothing where there is no test bed."""
    if not COMMAND.is_file():
        return []
    words = [sys.executable, str(COMMAND), "status", "--json"]
    if directory := os.environ.get(VARIABLE):
        words += ["--directory", directory]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    try:
        return list(json.loads(done.stdout)["systems"])
    except (ValueError, KeyError, TypeError):
        raise TailraceError(
            f"the test bed cannot be asked: {printable(done.stderr.strip()[:300]) or 'it said nothing'}",
            f"{printable(str(COMMAND))} status says more",
        ) from None
