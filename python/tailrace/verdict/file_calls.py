"""Whether a trace would tell what a program does with files."""

from __future__ import annotations

from typing import Any


def holds_file_calls(columns: dict[str, Any]) -> bool:
    """Another tracer records them only where it is told to. Its own calls, and states without a
    call, have names in parentheses."""
    table = columns["functions"]
    rows = zip(table["name"], table["layer"], strict=True)
    made = any(layer != "mpi" and not str(name).startswith("(") for name, layer in rows)
    return made or columns["format"] == "tailrace"
