"""One row per file.

The engine yields one per file and layer; a file written through MPI-IO has a row for the MPI-IO calls and one for the
POSIX calls inside them. Adding both would count time and bytes twice: the innermost layer wins, as in the accounts of
time, and what the MPI-IO calls took in all is kept beside it (`mpiio_ns`).
"""

from typing import Any

import numpy as np

SUMS = ("bytes_read", "bytes_written", "reads", "writes", "metadata_calls", "read_ns", "write_ns", "metadata_ns")
TIMES = ("read_ns", "write_ns", "metadata_ns")
HIDDEN = -1


def merged(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns with "files" and "file_rank" one row per file, and per file and rank. A copy."""
    files, file_rank = columns["files"], columns["file_rank"]
    row_of, paths = _rows_by_path(files)
    chosen = np.where(_shadowed(files, row_of, len(paths)), HIDDEN, row_of)
    pairs = _per_rank(file_rank, chosen)
    totals = {name: _sums(files[name], chosen, len(paths)) for name in SUMS}
    table = {
        "path": paths,
        "layer": _layers(files, chosen, len(paths)),
        "ranks": np.bincount(pairs["file"], minlength=len(paths)),
        **totals,
        "mpiio_ns": _sums(_mpiio_time(files), row_of, len(paths)),
        "slowest_rank": _slowest(pairs, len(paths)),
    }
    return columns | {"files": table, "file_rank": pairs}


def _rows_by_path(files: dict[str, Any]) -> tuple[np.ndarray, list[bytes]]:
    """For each row its number among the distinct paths, in order of first use."""
    numbers: dict[bytes, int] = {}
    rows = [numbers.setdefault(bytes(path), len(numbers)) for path in files["path"]]
    return np.asarray(rows, dtype=np.int64), list(numbers)


def _shadowed(files: dict[str, Any], row_of: np.ndarray, count: int) -> np.ndarray:
    """MPI-IO rows of files that have calls in another layer."""
    mpiio = np.asarray([layer == "mpiio" for layer in files["layer"]], dtype=bool)
    has_inner = np.zeros(count, dtype=bool)
    has_inner[row_of[~mpiio]] = True
    return mpiio & has_inner[row_of]


def _sums(values: Any, rows: np.ndarray, count: int) -> np.ndarray:
    result = np.zeros(count, dtype=np.int64)
    seen = rows != HIDDEN
    np.add.at(result, rows[seen], np.asarray(values, dtype=np.int64)[seen])
    return result


def _time(table: dict[str, Any]) -> np.ndarray:
    return sum(np.asarray(table[name], dtype=np.int64) for name in TIMES)


def _mpiio_time(files: dict[str, Any]) -> np.ndarray:
    mpiio = np.asarray([layer == "mpiio" for layer in files["layer"]], dtype=bool)
    return np.where(mpiio, _time(files), 0) if len(mpiio) else np.zeros(0, dtype=np.int64)


def _layers(files: dict[str, Any], chosen: np.ndarray, count: int) -> list[str]:
    """The layer with the most time in each file's rows."""
    result, most = [""] * count, [-1] * count
    for row, layer, time_ns in zip(chosen.tolist(), files["layer"], _time(files).tolist(), strict=True):
        if row != HIDDEN and time_ns > most[row]:
            result[row], most[row] = layer, time_ns
    return result


def _per_rank(file_rank: dict[str, Any], chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Rows of one file and rank in several layers added up, shadowed ones left out; in order of file, then rank."""
    file = chosen[np.asarray(file_rank["file"], dtype=np.int64)] if len(chosen) else np.zeros(0, dtype=np.int64)
    rank = np.asarray(file_rank["rank"], dtype=np.int64)
    seen = file != HIDDEN
    keys, group = np.unique(np.stack([file[seen], rank[seen]]), axis=1, return_inverse=True)
    sums = {name: _sums(np.asarray(file_rank[name])[seen], group.reshape(-1), keys.shape[1]) for name in SUMS}
    return {"file": keys[0], "rank": keys[1], **sums}


def _slowest(pairs: dict[str, np.ndarray], count: int) -> np.ndarray:
    """The rank with the most time in each file's calls; -1 where there is none."""
    result = np.full(count, -1, dtype=np.int64)
    order = np.argsort(_time(pairs), kind="stable")
    result[pairs["file"][order]] = pairs["rank"][order]
    return result
