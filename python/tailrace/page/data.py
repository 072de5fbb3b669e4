"""What the page's scripts draw: the timeline in bins of four bits per state, and the longest calls
exactly.

Every array is little-endian, deflated and base64-coded. A bin's byte holds the shares of I/O (high
half) and MPI (low half) in fifteenths, the rest being useful; a share that is there at all shows at
least one fifteenth. `rest` is the same without the longest calls: where the view is zoomed in,
those are drawn exactly on top of it.
"""

import base64
import math
import zlib
from typing import Any

import numpy as np

from tailrace.names import printable

STATES = {"useful": 0, "io": 1, "mpi": 2}
LEVELS = 15
# As many of the longest calls the engine lists.
MOST_LISTED = 20_000
# Bins of all rows together; two bytes each at most, before they are deflated.
MOST_MARKS = 600_000


def timeline_data(columns: dict[str, Any], bins: int, longest: int) -> dict[str, Any]:
    """At most `bins` intervals over the run time and `longest` calls; a few bytes each in the
    page."""
    runtime = int(columns["runtime_ns"])
    table = columns["timeline"]
    per_row = int(table["row_ranks"])
    total = {state: np.atleast_2d(np.asarray(table[state], dtype=np.float64)) for state in STATES}
    width = _bin_width(total["io"].shape[1], runtime)
    calls = _longest(columns["longest"], longest)
    rows = len(total["io"])
    factor = -(-total["io"].shape[1] // max(min(bins, MOST_MARKS // max(rows, 1)), 1))
    total = {state: rebin(values, factor) for state, values in total.items()}
    width *= factor
    in_mpi = {"ranks_in_mpi": total["mpi"].sum(axis=0) / width}
    rest = _without(total, calls, width) if per_row == 1 else None
    return {
        "runtime_ns": runtime,
        "bin_ns": width,
        "ranks": int(columns["ranks"]),
        "rows": rows,
        "row_ranks": per_row,
        "bins": total["io"].shape[1],
        "unknown_ns": unknown_ends(columns),
        "mix": pack(_mix(total)),
        "rest": rest and pack(_mix(rest, _added(total))),
        "rates": {
            name: pack(values.astype("<f4"))
            for name, values in (_rates(columns["rates"], factor) | in_mpi).items()
        },
        "calls": _packed_calls(calls) | {"complete": _listed(columns) <= longest},
    }


def unknown_ends(columns: dict[str, Any]) -> list[int]:
    """By row, each of one rank: for how long nothing is known of it at the run's end, where it was
    killed. Empty where nobody was, or rows are of several ranks."""
    unknown = np.asarray(columns["rank"].get("unknown_ns", ()), dtype=np.int64)
    if int(columns["timeline"]["row_ranks"]) > 1 or not unknown.any():
        return []
    return [int(time_ns) for time_ns in unknown]


def _bin_width(bins: int, runtime: int) -> int:
    """The engine's bins are of equal whole nanoseconds; the last may reach beyond the run time."""
    return max(1, -(-runtime // bins))


def _rates(rates: dict[str, Any], factor: int) -> dict[str, np.ndarray]:
    """Bytes add up when bins are joined, the number of ranks is a mean."""
    result = {
        name: rebin(np.asarray(values, dtype=np.float64)[None], factor)[0]
        for name, values in rates.items()
    }
    result["ranks_in_io"] /= factor
    return result


def rebin(values: np.ndarray, factor: int) -> np.ndarray:
    if factor <= 1:
        return values
    padded = np.pad(values, ((0, 0), (0, -values.shape[1] % factor)))
    return padded.reshape(len(values), -1, factor).sum(axis=2)


def _mix(total: dict[str, np.ndarray], whole: np.ndarray | None = None) -> np.ndarray:
    """One byte per bin. `whole` is a bin's length where the states do not fill it."""
    whole = np.maximum(_added(total) if whole is None else whole, 1)
    io, mpi = (level(total[state] / whole) for state in ("io", "mpi"))
    return (np.minimum(io, LEVELS) << 4 | np.minimum(mpi, LEVELS - io)).astype(np.uint8)


def _added(total: dict[str, np.ndarray]) -> np.ndarray:
    return np.sum(list(total.values()), axis=0)


def level(share: np.ndarray) -> np.ndarray:
    level = np.rint(share * LEVELS).astype(np.int64)
    return np.where((share > 1e-6) & (level == 0), 1, np.clip(level, 0, LEVELS))


def _longest(table: dict[str, Any], most: int) -> dict[str, Any]:
    begin = np.asarray(table["begin_ns"], dtype=np.float64)
    end = np.asarray(table["end_ns"], dtype=np.float64)
    chosen = np.sort(np.argsort(begin - end, kind="stable")[:most])
    state = [STATES[str(table["state"][i])] for i in chosen]
    functions, function = _numbered([printable(table["function"][i]) for i in chosen])
    files, file = _numbered([printable(table["file"][i] or b"") for i in chosen])
    calls = {
        "rank": np.asarray(table["rank"], dtype=np.int64)[chosen],
        "begin": begin[chosen],
        "end": end[chosen],
        "bytes": np.asarray(table["bytes"], dtype=np.float64)[chosen],
        "state": np.asarray(state, dtype=np.int64),
        "function": np.asarray(function, dtype=np.int64),
        "file": np.asarray(file, dtype=np.int64),
    }
    order = np.lexsort((-calls["end"], calls["begin"], calls["rank"]))
    return {name: values[order] for name, values in calls.items()} | {
        "functions": functions,
        "files": files,
    }


def _listed(columns: dict[str, Any]) -> float:
    """How many calls there are; as many as the engine lists means that there were more."""
    number = len(columns["longest"]["rank"])
    return number if number < MOST_LISTED else math.inf


def kind_of(function: str) -> str:
    """Whether a file call reads, writes or does something else, by its name."""
    name = function.lower()
    return "read" if "read" in name else "written" if "write" in name else "other"


def _numbered(names: list[str]) -> tuple[list[str], list[int]]:
    """Each name once, and for every call its number."""
    numbers: dict[str, int] = {}
    index = [numbers.setdefault(name, len(numbers)) for name in names]
    return list(numbers), index


def _without(
    total: dict[str, np.ndarray], calls: dict[str, Any], width: int
) -> dict[str, np.ndarray]:
    """The bins with the time of `calls` taken out of them."""
    result = dict(total)
    for state in ("io", "mpi"):
        of_state = calls["state"] == STATES[state]
        covered = _covered(
            total[state], *(calls[key][of_state] for key in ("rank", "begin", "end")), width=width
        )
        result[state] = np.clip(total[state] - covered, 0, None)
    return result


def _covered(
    bins: np.ndarray, rank: np.ndarray, begin: np.ndarray, end: np.ndarray, *, width: int
) -> np.ndarray:
    """Nanoseconds of each bin that the intervals cover: parts of their first and last bins, all of
    those between."""
    parts = np.zeros((bins.shape[0], bins.shape[1] + 2))
    first = np.minimum((begin // width).astype(np.int64), bins.shape[1] - 1)
    last = np.minimum((end // width).astype(np.int64), bins.shape[1] - 1)
    inside = first == last
    np.add.at(parts, (rank[inside], first[inside]), (end - begin)[inside])
    rank, begin, end, first, last = (values[~inside] for values in (rank, begin, end, first, last))
    np.add.at(parts, (rank, first), (first + 1) * width - begin)
    np.add.at(parts, (rank, last), end - last * width)
    whole = np.zeros_like(parts)
    np.add.at(whole, (rank, first + 1), width)
    np.add.at(whole, (rank, last), -width)
    return (parts + np.cumsum(whole, axis=1))[:, : bins.shape[1]]


def _packed_calls(calls: dict[str, Any]) -> dict[str, Any]:
    kinds = {
        "rank": "<u4",
        "begin": "<f8",
        "end": "<f8",
        "bytes": "<f8",
        "state": "u1",
        "function": "<u4",
        "file": "<u4",
    }
    packed = {name: pack(calls[name].astype(kind)) for name, kind in kinds.items()}
    return packed | {
        "count": len(calls["rank"]),
        "functions": calls["functions"],
        "kinds": [kind_of(name) for name in calls["functions"]],
        "files": calls["files"],
    }


def pack(values: np.ndarray) -> str:
    """An array's bytes, deflated (zlib) and base64-coded."""
    return base64.b64encode(zlib.compress(values.tobytes())).decode("ascii")
