"""Who held up whom: critical paths and wait states, as the engine finds them, with names.

A critical path is the longest chain of what waited for what: only what lies on it makes the run
shorter when it becomes faster. A wait state is time in which a rank does nothing in MPI until
another has done something (K. Böhme et al., *Identifying the root causes of wait states in
large-scale parallel applications*, 2010); here it is also said what that other did meanwhile, in
files as well.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tailrace.names import base_name, printable
from tailrace.units import count, percent, to_seconds
from tailrace.verdict.evidence import Kind
from tailrace.verdict.off_path import MOSTLY_ASLEEP
from tailrace.verdict.places import Places

STATES = ("useful", "io", "mpi")
# Rows of each list in the JSON, those with most time.
MOST_ROWS = 20
# Of more files than this, to which a call from one place is made, none is named that has less than
# half of the time: a directory's files, one behind the other, are one part of the path.
NAMED_FILES = 4
# A cause is named that stands for so much of a call's waits.
NAMED_CAUSE = 0.1
TOP_CAUSES = 2

AWAITED = {
    "late_sender": "for messages that were sent late",
    "late_receiver": "for receives that were posted late",
    "collective": "for the others",
    "lock": "for the lock of a window",
}

Row = dict[str, Any]


def as_json(columns: dict[str, Any], places: Places) -> dict[str, Any]:
    """`critical_path` and `wait_states` of a report; None where there is nothing to say: one rank
    waits for nobody."""
    table = columns.get("dependences")
    names = Names(columns, places)
    paths = table["paths"] if table else {}
    return {
        "critical_path": {key: _path(path, names) for key, path in paths.items()} or None,
        "wait_states": _wait_states(table, names) if table else None,
    }


class Names:
    """The words for what stands in the engine's tables."""

    def __init__(self, columns: dict[str, Any], places: Places) -> None:
        self.places = places
        self.files = columns["files"]["path"]

    def site(self, table: dict[str, Any], row: int) -> Row:
        path = int(table["path"][row])
        place = self.places.name(path) if path >= 0 else ""
        return {"function": str(table["function"][row]), "place": place}

    def doing(self, table: dict[str, Any], row: int) -> Row:
        file = int(table["file"][row])
        name = printable(self.files[file]) if file >= 0 else ""
        return {"state": str(table["state"][row]), **self.site(table, row), "file": name}


def _path(path: dict[str, Any], names: Names) -> Row:
    rows = [
        (int(path["rank"][row]), names.doing(path, row), int(time_ns))
        for row, time_ns in enumerate(path["time_ns"])
    ]
    by_rank = _summed(((rank, doing["state"]), time_ns) for rank, doing, time_ns in rows)
    ranks = sorted({rank for rank, _ in by_rank})
    of_rank = {rank: {state: by_rank.get((rank, state), 0) for state in STATES} for rank in ranks}
    order = sorted(ranks, key=lambda rank: (-sum(of_rank[rank].values()), rank))
    return {
        "runtime_s": to_seconds(path["runtime_ns"]),
        "start_s": to_seconds(path["start_ns"]),
        "crossings": int(path["crossings"]),
        **{
            f"{state}_s": to_seconds(sum(of_rank[rank][state] for rank in ranks))
            for state in STATES
        },
        "ranks": [
            {"rank": rank} | {f"{key}_s": to_seconds(ns) for key, ns in of_rank[rank].items()}
            for rank in order[:MOST_ROWS]
        ],
        "parts": _parts(rows, int(path["runtime_ns"])),
    }


def _parts(rows: list[tuple[int, Row, int]], runtime_ns: int) -> list[Row]:
    """What was done on the path, by whatever ranks."""
    by_doing: dict[tuple[str, ...], dict[int, int]] = {}
    many = _of_many_files(rows)
    for rank, doing, time_ns in rows:
        *key, file = doing.values()
        ranks = by_doing.setdefault((*key, "" if tuple(key) in many else file), {})
        ranks[rank] = ranks.get(rank, 0) + time_ns
    keys = ("state", "function", "place", "file")
    parts = [
        dict(zip(keys, doing, strict=True))
        | {
            "files": many.get(doing[:-1], int(bool(doing[-1]))),
            "time_s": to_seconds(sum(ranks.values())),
            "share": sum(ranks.values()) / runtime_ns if runtime_ns else 0.0,
            "ranks": len(ranks),
            "rank": (rank := min(ranks, key=lambda rank: (-ranks[rank], rank))),
            "of_rank_s": to_seconds(ranks[rank]),
        }
        for doing, ranks in by_doing.items()
    ]
    return _longest(parts)


def _of_many_files(rows: list[tuple[int, Row, int]]) -> dict[tuple[str, ...], int]:
    """How many files there are, of calls from one place to many, none of which stands out."""
    by_call: dict[tuple[str, ...], dict[str, int]] = {}
    for _, doing, time_ns in rows:
        *key, file = doing.values()
        files = by_call.setdefault(tuple(key), {})
        files[file] = files.get(file, 0) + time_ns
    return {
        key: len(files)
        for key, files in by_call.items()
        if len(files) > NAMED_FILES and 2 * max(files.values()) < sum(files.values())
    }


def path_rows(columns: dict[str, Any]) -> list[Row]:
    """All that lies on the critical paths, by replay, rank and what it is."""
    names = Names(columns, Places(columns))
    return [
        {"replay": replay, "rank": int(path["rank"][row])}
        | names.doing(path, row)
        | {"time_s": to_seconds(time_ns)}
        for replay, path in (columns.get("dependences") or {"paths": {}})["paths"].items()
        for row, time_ns in enumerate(path["time_ns"])
    ]


def cause_rows(columns: dict[str, Any]) -> list[Row]:
    """Waits by the call in which ranks waited, and by what those did meanwhile whom they waited
    for."""
    causes = (columns.get("dependences") or {}).get("causes")
    return _causes(causes, Names(columns, Places(columns))) if causes else []


def _causes(causes: dict[str, Any], names: Names) -> list[Row]:
    did = causes["cause"]
    rows = _summed_rows(
        (
            {"awaited": causes["awaited"][row], **names.site(causes, row)}
            | {f"cause_{key}": value for key, value in names.doing(did, row).items()}
            | {"cause_rank": int(did["rank"][row])},
            0,
            int(time_ns),
        )
        for row, time_ns in enumerate(did["time_ns"])
    )
    return [{key: value for key, value in row.items() if key != "number"} for row in rows]


def _wait_states(table: dict[str, Any], names: Names) -> Row | None:
    waits, causes = table["waits"], table["causes"]
    if not len(waits["time_ns"]):
        return None
    calls = _summed_rows(
        (
            {"awaited": waits["awaited"][row], **names.site(waits, row)},
            int(waits["number"][row]),
            int(time_ns),
        )
        for row, time_ns in enumerate(waits["time_ns"])
    )
    return {
        "time_s": to_seconds(np.sum(waits["time_ns"])),
        "number": int(np.sum(waits["number"])),
        "followed_s": to_seconds(np.sum(causes["cause"]["time_ns"])),
        "calls": _longest(calls),
        "causes": _longest(_causes(causes, names)),
    }


def _summed(pairs: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    sums: dict[Any, int] = {}
    for key, time_ns in pairs:
        sums[key] = sums.get(key, 0) + time_ns
    return sums


def _summed_rows(rows: Iterable[tuple[Row, int, int]]) -> list[Row]:
    """Rows that are called the same are one: a place has one name for many paths."""
    sums: dict[tuple[Any, ...], Row] = {}
    for row, number, time_ns in rows:
        one = sums.setdefault(tuple(row.values()), row | {"number": 0, "time_ns": 0})
        one["number"] += number
        one["time_ns"] += time_ns
    return [
        {key: value for key, value in row.items() if key != "time_ns"}
        | {"time_s": to_seconds(row["time_ns"])}
        for row in sums.values()
    ]


def _longest(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: -float(row["time_s"]))[:MOST_ROWS]


def useful_words(report: Row) -> str:
    """What ranks do outside MPI and file calls: where they mostly sleep there, no computing."""
    found = [each for each in report["verdict"] if each["code"] == Kind.SLEEP.value]
    slept = max((each["share_of_runtime"] for each in found), default=0.0)
    return "outside MPI and file calls" if slept >= MOSTLY_ASLEEP else "computing"


def part_words(part: Row, useful: str = "computing") -> str:
    """What was done, and on which rank: `rank 0 in pwrite64 on history`."""
    did = doing(part["state"], part["function"], part["file"], useful)
    many = f" on {count(part['files'], 'file')}" if part["files"] > 1 else ""
    return f"{_ranks(part)} {did}{many}"


def doing(state: str, function: str, file: str, useful: str) -> str:
    if state == "useful":
        return useful
    on = f" on {base_name(file)}" if file else ""
    return f"in {function}{on}" if function else "in MPI" if state == "mpi" else "in files"


def _ranks(part: Row) -> str:
    if part["ranks"] == 1:
        return f"rank {part['rank']}"
    most = part["of_rank_s"] / part["time_s"] if part["time_s"] else 0
    return f"{count(part['ranks'], 'rank')} (most on rank {part['rank']}: {percent(most)})"


def wait_words(call: Row) -> str:
    """In which call ranks waited, and for what."""
    at = f", at {call['place']}" if call["place"] else ""
    return f"{call['function'] or 'MPI'}, {AWAITED[call['awaited']]}{at}"


def causes_of(waits: Row, call: Row, useful: str = "computing") -> list[str]:
    """What those did that a call's waits were for, the most first."""
    keys = ("awaited", "function", "place")
    of_call = [row for row in waits["causes"] if all(row[key] == call[key] for key in keys)]
    return [
        f"{percent(row['time_s'] / call['time_s'])} while rank {row['cause_rank']} was"
        f" {doing(row['cause_state'], row['cause_function'], row['cause_file'], useful)}"
        + (f", at {row['cause_place']}" if row["cause_place"] else "")
        for row in of_call[:TOP_CAUSES]
        if row["time_s"] >= NAMED_CAUSE * call["time_s"]
    ]
