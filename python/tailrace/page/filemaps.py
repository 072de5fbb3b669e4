"""The files that take most time, each with who uses it when (drawn by filemaps.js) and the sizes of
its requests."""

from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tailrace.names import printable
from tailrace.page.data import LEVELS, level, pack, rebin
from tailrace.units import byte_count, count
from tailrace.verdict.evidence import ON_FILE_SYSTEM

MOST_FILES = 6
# What takes less of the time in file calls is not what the run is about.
NOTABLE_SHARE = 0.01
# The engine's decades.
NAMES = ("<100 B", "1 kB", "10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "more")
SPANS = (
    "less than 100 B",
    "100 B to 1 kB",
    "1 to 10 kB",
    "10 to 100 kB",
    "100 kB to 1 MB",
    "1 to 10 MB",
    "10 to 100 MB",
    "100 MB or more",
)
KINDS = ("read", "write", "other")
WIDTH, HEIGHT, BASE = 320, 96, 76


class FileMap(NamedTuple):
    path: str
    # Among the names of the page's calls, and among the uses; -1 where it is not there.
    number: int
    use: int
    words: str
    histogram: Markup


def is_on_file_system(row: dict[str, Any]) -> bool:
    """Shared memory, devices and the kernel's own files are not; a standard stream may be."""
    return row["place"] == ON_FILE_SYSTEM and not row["path"].startswith("<")


def file_time(row: dict[str, Any]) -> float:
    return row["read_s"] + row["write_s"] + row["metadata_s"]


def file_maps(
    columns: dict[str, Any], files: list[dict[str, Any]], data: dict[str, Any]
) -> list[FileMap]:
    """Of the report's `files`, in order of time; `data` is what the page's scripts draw."""
    numbers = {name: number for number, name in enumerate(data["calls"]["files"]) if name}
    rows = {printable(path): row for row, path in enumerate(columns["files"]["path"])}
    uses = {int(row): use for use, row in enumerate(columns["file_uses"]["file"])}
    least_s = NOTABLE_SHARE * sum(map(file_time, files))
    maps = []
    for file in files:
        moved = file["reads"] + file["writes"]
        if not moved or file_time(file) < least_s or not is_on_file_system(file):
            continue
        row = rows[file["path"]]
        number, use = numbers.get(file["path"], -1), uses.get(row, -1)
        if max(number, use) >= 0:
            longest_only = use < 0 and not data["calls"]["complete"]
            words, histogram = _described(columns["file_sizes"], row, longest_only)
            maps.append(FileMap(file["path"], number, use, words, histogram))
    return maps[:MOST_FILES]


def file_uses(columns: dict[str, Any], maps: list[FileMap], share: int) -> dict[str, Any]:
    """When which ranks use the files of `maps`: of each bin the shares, in fifteenths, of calls
    that read, that write, and of others. `share` runs have one page's bytes."""
    uses = columns["file_uses"]
    tables = [np.asarray(uses[kind], dtype=np.float64) for kind in KINDS]
    bins = tables[0].shape[2]
    wide = int(uses["bin_ns"]) * share
    whole = max(int(columns["timeline"]["row_ranks"]), 1) * wide
    packed = {}
    for shown in maps:
        if shown.use >= 0:
            shares = [rebin(table[shown.use], share) / whole for table in tables]
            levels = np.minimum(level(np.stack(shares)), LEVELS)
            packed[str(shown.use)] = pack(levels.astype(np.uint8))
    return {"bins": -(-bins // share), "bin_ns": wide, "maps": packed}


def _described(sizes: dict[str, Any], row: int, longest_only: bool) -> tuple[str, Markup]:
    decades = {kind: np.asarray(sizes[f"{kind}s"])[row] for kind in ("read", "write")}
    words = [
        _spread(kind, calls, int(sizes[f"{kind}s_least"][row]), int(sizes[f"{kind}s_most"][row]))
        for kind, calls in decades.items()
        if calls.any()
    ]
    if longest_only:
        words.append("the map shows the longest calls only")
    return "; ".join(words), _histogram(decades)


def _spread(kind: str, calls: np.ndarray, least: int, most: int) -> str:
    """How many requests of which sizes; the decade that more than half of them are in."""
    number = count(int(calls.sum()), kind)
    if least == most:
        return f"{number} of {byte_count(least)}"
    words = f"{number} of {byte_count(least)} to {byte_count(most)}"
    mode = int(calls.argmax())
    outside = np.count_nonzero(calls) > 1
    return f"{words}, most of {SPANS[mode]}" if outside and 2 * calls[mode] > calls.sum() else words


def _histogram(decades: dict[str, np.ndarray]) -> Markup:
    """Requests by size, those that read and those that write beside each other."""
    names = {"read": "read", "write": "written"}
    counts = {names[kind]: calls for kind, calls in decades.items() if calls.any()}
    most = max((int(values.max()) for values in counts.values()), default=0)
    step = WIDTH / len(NAMES)
    width = (step - 6) / max(len(counts), 1)
    marks = []
    for place, (kind, values) in enumerate(counts.items()):
        for n in np.flatnonzero(values):
            height = max(values[n] / most * (BASE - 16), 2)
            x = n * step + 3 + place * width
            marks.append(
                f'<rect class="fill-{kind}" x="{x:.1f}" y="{BASE - height:.1f}" '
                f'width="{width:.1f}" height="{height:.1f}"/>'
                f'<text class="tick" x="{x + width / 2:.1f}" y="{BASE - height - 4:.1f}" '
                f'text-anchor="middle">{_short(int(values[n]))}</text>'
            )
    labels = "".join(
        f'<text class="tick" x="{(n + 0.5) * step:.1f}" y="{HEIGHT - 6}" '
        f'text-anchor="middle">{name.replace("<", "&lt;")}</text>'
        for n, name in enumerate(NAMES)
    )
    return Markup(
        f'<svg class="histogram" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="requests by size: {_spoken(counts)}">'
        f'<path class="rule" d="M0 {BASE}H{WIDTH}"/>{"".join(marks)}{labels}</svg>'
    )


def _short(number: int) -> str:
    return f"{number:,}" if number < 10_000 else f"{number / 1000:,.0f}k"


def _spoken(counts: dict[str, np.ndarray]) -> str:
    parts = [
        f"{values[n]:,} {kind} up to {NAMES[n].lstrip('<')}"
        for kind, values in counts.items()
        for n in np.flatnonzero(values)
    ]
    return ", ".join(parts) or "none"
