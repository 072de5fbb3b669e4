"""Whether a trace would tell what a program does with files, and which of these are none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def holds_file_calls(columns: dict[str, Any]) -> bool:
    """Another tracer records them only where it is told to. Its own calls, and states without a
    call, have names in parentheses."""
    table = columns["functions"]
    rows = zip(table["name"], table["layer"], strict=True)
    made = any(layer != "mpi" and not str(name).startswith("(") for name, layer in rows)
    return made or columns["format"] == "tailrace"


def files_in_memory(columns: dict[str, Any]) -> list[Path]:
    """Those in /dev/shm: what is done with them is no time in files (docs/reference/report.md)."""
    files = columns["files"]
    rows = zip(files["path"], files["place"], strict=True)
    return [Path(os.fsdecode(bytes(path))) for path, place in rows if str(place) == "memory"]
