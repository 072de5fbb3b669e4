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


def bed(name: str) -> dict[str, Any] | None:
    """What the test bed says of one of its file systems (docs/schema/testbed.json); None where it is not up."""
    return next((bed for bed in status() if bed.get("name") == name and bed.get("state") == "up"), None)


def mount_of(name: str) -> Path:
    """Its directory, the first client's where there are several. Raises FileNotFoundError where it is not up."""
    found = bed(name)
    if found is None or not found.get("mounts"):
        raise FileNotFoundError(name)
    return Path(found["mounts"][0])


@lru_cache(maxsize=1)
def status() -> list[dict[str, Any]]:
    """Of each bed; nothing where there is no test bed here."""
    if not COMMAND.is_file():
        return []
    words = [sys.executable, str(COMMAND), "status", "--json"]
    if directory := os.environ.get(VARIABLE):
        words += ["--directory", directory]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    try:
        return list(json.loads(done.stdout)["beds"])
    except (ValueError, KeyError, TypeError):
        raise TailraceError(
            f"the test bed cannot be asked: {printable(done.stderr.strip()[:300]) or 'it said nothing'}",
            f"{printable(str(COMMAND))} status says more",
        ) from None
