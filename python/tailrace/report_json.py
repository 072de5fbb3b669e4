"""`tailrace report --json`: the contract of DESIGN.md; docs/schema/report.json describes every key."""

import shlex
from typing import Any

import numpy as np

from tailrace.analysis import Times, as_numbers, efficiencies, losses, pop_efficiencies, times_of
from tailrace.evidence import Evidence
from tailrace.names import printable
from tailrace.run_findings import overhead_share
from tailrace.scaling import scaling_table
from tailrace.units import NANOSECONDS_PER_SECOND
from tailrace.verdict import findings, headline

SCHEMA = 1


def seconds(time_ns: Any) -> float:
    return float(time_ns) / NANOSECONDS_PER_SECOND


def report(columns: dict[str, Any]) -> dict[str, Any]:
    """One trace as the JSON object that DESIGN.md promises, with more keys."""
    times = times_of(columns)
    return {
        "schema": SCHEMA,
        "ranks": times.ranks,
        "runtime_s": seconds(times.runtime_ns),
        "ideal_network_s": seconds(times.ideal_network_ns),
        "ideal_network_even_io_s": seconds(times.ideal_network_even_io_ns),
        "ideal_s": seconds(times.ideal_ns),
        "useful_s": _spread(times.useful_ns),
        "io_s": _spread(times.io_ns),
        "mpi_s": _spread(times.mpi_ns),
        "efficiency": as_numbers(efficiencies(times)),
        "pop": as_numbers(pop_efficiencies(times)),
        "losses_s": _losses(times),
        "files": _files(columns["files"]),
        "layers": {key.removesuffix("_ns") + "_s": seconds(value) for key, value in columns["layers"].items()},
        "headline": headline(columns),
        "verdict": [_finding(finding) for finding in findings(columns)],
        "capture": _capture(columns),
        "per_rank": _per_rank(columns, times),
        "phases": _phases(columns["phases"]),
        "format": columns["format"],
        "meta": _meta(columns["meta"]),
        "warnings": [{key: printable(warning[key]) for key in ("code", "message")} for warning in columns["warnings"]],
    }


def _meta(meta: dict[str, str]) -> dict[str, str]:
    """The command's words, which the trace keeps apart, as one would type them."""
    typed = {"command": shlex.join(meta["command"].split("\x1f"))} if meta.get("command") else {}
    return {printable(key): printable(value) for key, value in (meta | typed).items()}


def reports(traces: list[dict[str, Any]], paths: list[str], **options: Any) -> dict[str, Any]:
    """Several traces: every report, and the scaling table over them."""
    runs = [{"trace": printable(path)} | report(columns) for path, columns in zip(paths, traces, strict=True)]
    return {"schema": SCHEMA, "runs": runs, "scaling": scaling_table(traces, **options)}


def _spread(values_ns: np.ndarray) -> dict[str, float]:
    total = int(values_ns.sum())
    return {
        "mean": total / max(len(values_ns), 1) / NANOSECONDS_PER_SECOND,
        "max": seconds(values_ns.max(initial=0)),
        "total": seconds(total),
    }


def _losses(times: Times) -> dict[str, float]:
    lost = losses(times)
    names = ("imbalance", "serialization", "io_transfer", "io_balance", "transfer")
    return {name: seconds(getattr(lost, f"{name}_ns")) for name in names}


def _files(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Files with most time in calls first."""
    rows = [_file(table, index) for index in range(len(table["path"]))]
    return sorted(rows, key=lambda row: -(row["read_s"] + row["write_s"] + row["metadata_s"]))


def _file(table: dict[str, Any], index: int) -> dict[str, Any]:
    counts = ("ranks", "bytes_read", "bytes_written", "reads", "writes", "metadata_calls")
    return {
        "path": printable(table["path"][index]),
        "layer": str(table["layer"][index]),
        **{name: int(table[name][index]) for name in counts},
        **{f"{kind}_s": seconds(table[f"{kind}_ns"][index]) for kind in ("read", "write", "metadata", "mpiio")},
    }


def _finding(finding: Any) -> dict[str, Any]:
    keys = ("finding", "evidence", "share_of_runtime", "code", "gain", "gain_s")
    return {key: getattr(finding, key) for key in keys}


def _capture(columns: dict[str, Any]) -> dict[str, Any]:
    capture = columns["capture"]
    return {
        "events": int(capture["events"]),
        "events_lost": int(capture["events_lost"]),
        "overhead_share": overhead_share(Evidence(columns)),
        "complete": bool(capture["complete"]),
        "cost_ns_per_event": float(capture["cost_ns_per_event"] or 0),
        "notes": [printable(note) for note in capture["notes"]],
    }


def _per_rank(columns: dict[str, Any], times: Times) -> list[dict[str, Any]]:
    rank = columns["rank"]
    return [
        {
            "rank": p,
            "host": printable(rank["host"][p]),
            **{f"{state}_s": seconds(rank[f"{state}_ns"][p]) for state in ("useful", "io", "mpi", "overlapped_io")},
            **{name: int(rank[name][p]) for name in ("bytes_read", "bytes_written", "events")},
        }
        for p in range(times.ranks)
    ]


def _phases(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "kind": str(table["kind"][i]),
            **{f"{name}_s": seconds(table[f"{name}_ns"][i]) for name in ("begin", "end", "io")},
            **{name: int(table[name][i]) for name in ("bytes_read", "bytes_written", "ranks_in_io_max")},
            "ranks_in_io_mean": float(table["ranks_in_io_mean"][i]),
        }
        for i in range(len(table["kind"]))
    ]
