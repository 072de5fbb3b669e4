"""Where the test bed has mounted a file system: its own command is asked."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.study.definition.model import Target

COMMAND = Path(__file__).parents[4] / "testbed" / "testbed"
# The directory that `testbed up --directory` was given.
VARIABLE = "TAILRACE_TESTBED"


def bed(name: str) -> dict[str, Any] | None:
    """What the test bed says of one of its file systems (docs/schema/testbed.json); None where it
    is not up."""
    return next(
        (bed for bed in status() if bed.get("name") == name and bed.get("state") == "up"), None
    )


def usable(name: str) -> dict[str, Any] | None:
    """As `bed`. Raises TailraceError where it was brought up and something of it does not work."""
    for found in status():
        if found.get("name") == name and found.get("state") == "broken":
            raise TailraceError(
                f"{name} of the test bed is broken: {printable(str(found.get('reason')))}",
                f"{printable(str(COMMAND))} down {name}, then up again",
            )
    return bed(name)


def mount_of(name: str) -> Path:
    """Its directory, the first client's where there are several. Raises FileNotFoundError where it
    is not up, TailraceError where it is broken."""
    found = usable(name)
    if found is None or not found.get("mounts"):
        raise FileNotFoundError(name)
    return Path(found["mounts"][0])


def in_use(target: Target, path: Path) -> dict[str, Any] | None:
    """The bed of a target that is at `path`; None where --target named another directory than the
    bed's."""
    found = bed(target.testbed) if target.testbed is not None else None
    return found if found is not None and str(path) in found["mounts"] else None


@contextlib.contextmanager
def environment(targets: Mapping[str, Target], directories: Mapping[str, Path]) -> Iterator[None]:
    """Meanwhile, what programs need on the beds in use is in our environment, where the user has
    not said otherwise.

    For every run, whatever its target: runs that are compared have the same environment.
    """
    beds = [in_use(targets[name], path) for name, path in directories.items()]
    wanted = {
        name: text for found in beds if found for name, text in found.get("environment", {}).items()
    }
    missing = {name: text for name, text in wanted.items() if name not in os.environ}
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


def directory_words() -> list[str]:
    directory = os.environ.get(VARIABLE)
    return ["--directory", directory] if directory else []


@lru_cache(maxsize=1)
def status() -> list[dict[str, Any]]:
    """Of each bed; nothing where there is no test bed here."""
    if not COMMAND.is_file():
        return []
    words = [sys.executable, str(COMMAND), "status", "--json", *directory_words()]
    done = subprocess.run(
        words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    try:
        return list(json.loads(done.stdout)["beds"])
    except (ValueError, KeyError, TypeError):
        raise TailraceError(
            "the test bed does not answer:"
            f" {printable(done.stderr.strip()[:300]) or 'it said nothing'}",
            f"{printable(str(COMMAND))} status has details",
        ) from None
