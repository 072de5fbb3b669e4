"""A file seen in two layers is one row, and nothing is counted twice."""

import numpy as np

from tailrace.file_tables import SUMS, merged


def table(rows: list[dict], **lists) -> dict:
    return {name: np.array([row.get(name, 0) for row in rows]) for name in SUMS} | lists


def columns() -> dict:
    """out.nc through MPI-IO by ranks 0 and 1 (100 bytes each), whose POSIX calls rank 0 makes; log by rank 1."""
    files = table(
        [
            {"bytes_written": 200, "writes": 2, "write_ns": 90},
            {"bytes_written": 200, "writes": 1, "write_ns": 50, "metadata_calls": 1, "metadata_ns": 5},
            {"bytes_written": 7, "writes": 7, "write_ns": 3},
        ],
        path=[b"/out.nc", b"/out.nc", b"/log"],
        layer=["mpiio", "posix", "stdio"],
    )
    pairs = table(
        [
            {"bytes_written": 100, "writes": 1, "write_ns": 60},
            {"bytes_written": 100, "writes": 1, "write_ns": 30},
            {"bytes_written": 200, "writes": 1, "write_ns": 50, "metadata_calls": 1, "metadata_ns": 5},
            {"bytes_written": 7, "writes": 7, "write_ns": 3},
        ],
        file=np.array([0, 0, 1, 2]),
        rank=np.array([0, 1, 0, 1]),
    )
    return {"files": files, "file_rank": pairs}


def test_the_innermost_layer_wins_and_mpiio_time_is_kept():
    files = merged(columns())["files"]
    assert files["path"] == [b"/out.nc", b"/log"]
    assert files["layer"] == ["posix", "stdio"]
    assert files["bytes_written"].tolist() == [200, 7]
    assert files["write_ns"].tolist() == [50, 3]
    assert files["mpiio_ns"].tolist() == [90, 0]
    assert files["ranks"].tolist() == [1, 1]
    assert files["slowest_rank"].tolist() == [0, 1]


def test_pairs_point_to_the_merged_rows():
    pairs = merged(columns())["file_rank"]
    assert list(zip(pairs["file"].tolist(), pairs["rank"].tolist(), pairs["write_ns"].tolist(), strict=True)) == [
        (0, 0, 50),
        (1, 1, 3),
    ]


def test_mpiio_alone_counts():
    alone = columns()
    alone["files"] = {name: values[:1] for name, values in alone["files"].items()}
    alone["file_rank"] = {name: values[:2] for name, values in alone["file_rank"].items()}
    files = merged(alone)["files"]
    assert (files["layer"], files["write_ns"].tolist(), files["ranks"].tolist()) == (["mpiio"], [90], [2])


def test_no_files_at_all():
    empty = {"files": table([], path=[], layer=[]), "file_rank": table([], file=np.array([]), rank=np.array([]))}
    assert merged(empty)["files"]["path"] == []
