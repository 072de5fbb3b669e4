"""What gridio has: its methods, its formats and which of them go together, as gridio says it.

`gridio.json` is what `gridio-info` of the most complete build prints, written by
`tools/gridio_table.py`. Nothing else in Python lists methods or formats.
"""

import json
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "gridio.json"
_told: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
_methods = {method["name"]: method for method in _told["methods"]}
_formats = {format_["name"]: format_ for format_ in _told["formats"] if not format_["for_tests"]}

METHODS: tuple[str, ...] = tuple(_methods)
FORMATS: tuple[str, ...] = tuple(_formats)
DIMENSIONS_AT_MOST: int = _told["dimensions_at_most"]
VARIABLES_AT_MOST: int = _told["variables_at_most"]


def possible(method: str, format_: str) -> bool:
    """Whether they go together, in a build that has the format."""
    return method not in _formats[format_]["never_with"]


def suffix(format_: str) -> str:
    """Of the names of its files: `.nc`. It also says what kind of file it is."""
    return _formats[format_]["suffix"]


def packages(format_: str) -> list[str]:
    """Debian's packages for its Open MPI with the format's library; none where MPI is enough."""
    return (_formats[format_]["packages"] or "").split()


def pairs_of(printed: str) -> frozenset[tuple[str, str]]:
    """The pairs of method and format of a build, of which `gridio-info` printed this."""
    pairs = json.loads(printed)["pairs"]
    return frozenset((method, format_) for method, format_ in pairs if format_ in _formats)
