"""`tailrace report --json`: docs/schema/report.json, the contract, describes every key."""

import shlex
from typing import Any

import numpy as np

from tailrace.names import printable
from tailrace.output import SCHEMA
from tailrace.units import NANOSECONDS_PER_SECOND, to_seconds
from tailrace.verdict.dependences import as_json as dependences
from tailrace.verdict.efficiencies import (
    Times,
    as_numbers,
    by_key,
    efficiencies,
    factors_of_losses,
    pop_efficiencies,
)
from tailrace.verdict.ends import exit_status, unknown_ns
from tailrace.verdict.evidence import Evidence, Finding
from tailrace.verdict.headline import judge
from tailrace.verdict.off_path import by_other_ways, by_processes, slept_ns, started, ways
from tailrace.verdict.phases import as_json as output_phases
from tailrace.verdict.places import Places
from tailrace.verdict.processors import STATES, Processors
from tailrace.verdict.requests import BUFFERED_COLUMNS, KINDS, PATTERN_COLUMNS
from tailrace.verdict.routines import as_json as routines

# Numbers that stand elsewhere in the report, in a form that people read.
PHASE_TIMES = ("begin", "end", "io", "busy")
CODED_META = (
    "command_name",
    "ended_by",
    "exit_status",
    "usage",
    "ran_ns",
    "others_ran_ns",
    "unseen",
    "mapped_file",
    "opened_direct",
    "opened_synchronous",
    "written_synchronously",
)
PATTERNS = tuple(name for name in PATTERN_COLUMNS if not name.endswith("_ns"))


def report(columns: dict[str, Any]) -> dict[str, Any]:
    """One trace as the JSON object that docs/schema/report.json describes."""
    evidence = Evidence(columns)
    times, verdict, places = evidence.times, judge(evidence), Places(columns)
    return {
        "schema": SCHEMA,
        "ranks": times.ranks,
        "runtime_s": to_seconds(times.runtime_ns),
        "ideal_network_s": to_seconds(times.ideal_network_ns),
        "ideal_network_even_io_s": to_seconds(times.ideal_network_even_io_ns),
        "ideal_s": to_seconds(times.ideal_ns),
        "useful_s": _spread(times, times.useful_ns),
        "io_s": _spread(times, times.io_ns),
        "mpi_s": _spread(times, times.mpi_ns),
        "efficiency": as_numbers(efficiencies(times)),
        "pop": as_numbers(pop_efficiencies(times)),
        "losses_s": {key: to_seconds(float(ns)) for key, ns in by_key(evidence.losses).items()},
        "files": _files(columns, places),
        "routines": routines(evidence),
        **dependences(columns, places),
        "layers": {
            key.removesuffix("_ns") + "_s": to_seconds(value)
            for key, value in columns["layers"].items()
        },
        "headline": verdict.headline,
        "verdict": [_finding(finding) for finding in verdict.findings],
        "capture": _capture(columns["capture"], evidence),
        "unrecorded": _unrecorded(evidence),
        "processors": _processors(evidence),
        "per_rank": _per_rank(columns, evidence),
        "output_phases": output_phases(evidence),
        "phases": _phases(columns["phases"]),
        "exit_status": exit_status(columns["meta"]),
        "ended_by": printable(columns["meta"].get("ended_by", "")) or None,
        "format": columns["format"],
        "meta": _meta(columns["meta"]),
        "warnings": [
            {key: printable(warning[key]) for key in ("code", "message", "hint")}
            for warning in columns["warnings"]
        ],
    }


def _meta(meta: dict[str, str]) -> dict[str, str]:
    """The command's words, which the trace keeps apart, as one would type them."""
    typed = {"command": shlex.join(meta["command"].split("\x1f"))} if meta.get("command") else {}
    known = {key: value for key, value in (meta | typed).items() if key not in CODED_META}
    return {printable(key): printable(value) for key, value in known.items()}


def reports(
    documents: list[dict[str, Any]],
    paths: list[str],
    labels: list[str],
    scaling: dict[str, Any],
) -> dict[str, Any]:
    """Several traces: every report, and the scaling table over them."""
    runs = [
        {"trace": printable(path), "label": label} | document
        for path, label, document in zip(paths, labels, documents, strict=True)
    ]
    return {"schema": SCHEMA, "runs": runs, "scaling": scaling}


def _spread(times: Times, values_ns: np.ndarray) -> dict[str, float]:
    total = int(values_ns.sum())
    return {
        "mean": float(times.mean_ns(values_ns) / NANOSECONDS_PER_SECOND),
        "max": to_seconds(values_ns.max(initial=0)),
        "total": to_seconds(total),
    }


def _files(columns: dict[str, Any], places: Places) -> list[dict[str, Any]]:
    """Files with most time in calls first. By column, since there may be a hundred thousand."""
    table = columns["files"]
    counts = (
        *("ranks", "bytes_read", "bytes_written", "mpiio_bytes_read", "mpiio_bytes_written"),
        *BUFFERED_COLUMNS,
        *("metadata_calls", *(calls for calls, _ in KINDS.values())),
        *("failed_writes", "failed_others"),
    )
    times = (*KINDS, "metadata", "mpiio")
    values = {
        "path": map(printable, table["path"]),
        "layer": map(str, table["layer"]),
        "place": map(str, table["place"]),
        **{name: np.asarray(table[name]).tolist() for name in counts},
        **{f"{kind}_s": map(to_seconds, table[f"{kind}_ns"]) for kind in times},
        **{name: np.asarray(table[name]).tolist() for name in PATTERNS},
        "places": map(places.of_file, range(len(table["path"]))),
    }
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    return sorted(rows, key=lambda row: -(row["read_s"] + row["write_s"] + row["metadata_s"]))


def bytes_per_s(file: dict[str, Any]) -> float:
    """What one rank sees while it reads or writes a file of the report; 0 where no time is known. A
    request that is asynchronous takes its time where the program waits, and many of a stream's
    theirs where it seeks or is closed: where most of the time is there, it is all counted."""
    moving_s, others_s = file["read_s"] + file["write_s"], file["metadata_s"]
    elsewhere = file["layer"] == "stdio" and others_s > moving_s
    if file["layer"] == "asynchronous" or elsewhere:
        moving_s += others_s
    moved = file["bytes_read"] + file["bytes_written"]
    return float(moved / moving_s) if moving_s else 0.0


def _finding(finding: Finding) -> dict[str, Any]:
    keys = ("finding", "evidence", "share_of_runtime", "code", "gain", "gain_s", "advice", "place")
    told = {key: getattr(finding, key) for key in keys} | {"code": finding.code.value}
    predicted = finding.prediction
    return told | {"prediction": predicted and predicted._asdict()}


def _capture(capture: dict[str, Any], evidence: Evidence) -> dict[str, Any]:
    return {
        "events": int(capture["events"]),
        "events_lost": int(capture["events_lost"]),
        "overhead_share": evidence.overhead.share,
        "overhead_s": to_seconds(evidence.overhead.most_ns),
        "overhead_measured": evidence.overhead.measured,
        "complete": bool(capture["complete"]),
        "cost_ns_per_event": float(capture["cost_ns_per_event"] or 0),
        "notes": [printable(note) for note in capture["notes"]],
    }


def _unrecorded(evidence: Evidence) -> dict[str, Any]:
    processes, others = by_processes(evidence), by_other_ways(evidence)
    return {
        "processes": started(evidence),
        "processes_bytes_written": processes.written,
        "processes_bytes_read": processes.read,
        "through": ways(evidence),
        "bytes_written": others.written,
        "bytes_read": others.read,
    }


def _processors(evidence: Evidence) -> dict[str, Any] | None:
    processors = evidence.processors
    if processors is None:
        return None
    without_waits = factors_of_losses(evidence.times.runtime_ns, evidence.losses)
    return {
        "efficiency": without_waits if processors.notable else None,
        "share": processors.share,
        "any_rank_waits_s": {
            state: to_seconds(time_ns) for state, time_ns in processors.any_waited_ns.items()
        },
        "nodes": [
            {"host": printable(node.host), "ranks": node.ranks, "cores": node.cores or None}
            for node in processors.nodes
        ],
    }


def _waited(processors: Processors | None, rank: int) -> dict[str, float] | None:
    if processors is None or not processors.known[rank]:
        return None
    waited_ns = processors.waited_ns[rank]
    return {state: to_seconds(waited_ns[i]) for i, state in enumerate(STATES)}


def _per_rank(columns: dict[str, Any], evidence: Evidence) -> list[dict[str, Any]]:
    rank, times, slept = columns["rank"], evidence.times, slept_ns(evidence)
    unknown, ended = unknown_ns(evidence), rank.get("ended", ["known"] * times.ranks)
    return [
        {
            "rank": p,
            "host": printable(rank["host"][p]),
            **{
                f"{state}_s": to_seconds(rank[f"{state}_ns"][p])
                for state in ("useful", "io", "mpi", "overlapped_io", "overlapped_mpi")
            },
            "overlapped_mpi_calls": int(rank["overlapped_mpi_calls"][p]),
            "ended": ended[p],
            "unknown_s": to_seconds(unknown[p]),
            "unfinished": evidence.unfinished[p] or None,
            "unfinished_s": to_seconds(evidence.of_ranks("unfinished_ns")[p]),
            "slept_s": None if slept is None else to_seconds(slept[p]),
            "processor_wait_s": _waited(evidence.processors, p),
            **{name: int(rank[name][p]) for name in ("bytes_read", "bytes_written", "events")},
        }
        for p in range(times.ranks)
    ]


def _phases(table: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "kind": str(table["kind"][i]),
            **{f"{name}_s": to_seconds(table[f"{name}_ns"][i]) for name in PHASE_TIMES},
            **{
                name: int(table[name][i])
                for name in ("bytes_read", "bytes_written", "ranks_in_io_max")
            },
            "ranks_in_io_mean": float(table["ranks_in_io_mean"][i]),
        }
        for i in range(len(table["kind"]))
    ]
