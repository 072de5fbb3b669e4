"""Names that a file had one after the other: programs write a file under a name of its own until it
is whole, and rename it. Such a file counts once."""

from typing import Any

import numpy as np


def former_names(columns: dict[str, Any]) -> dict[int, int]:
    """By row of "files": the row with the name that the file had before. It was written under that
    name alone: what is written under both is a file of its own."""
    files = columns["files"]
    former, written = np.asarray(files["former"]), np.asarray(files["bytes_written"]) > 0
    rows = np.flatnonzero((former >= 0) & ~written)
    return {int(row): int(former[row]) for row in rows if written[former[row]]}
