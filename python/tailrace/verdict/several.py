"""The first line about several runs: how they scale, or which of them is fastest, and why."""

from collections.abc import Sequence
from typing import Any

from tailrace.labels import differences_of
from tailrace.names import base_name
from tailrace.units import count, percent, seconds
from tailrace.verdict.comparison import SAME_SHARE, part_names, parts_of, sentence
from tailrace.verdict.efficiencies import FACTORS_WITHOUT_WAITS, factors_of_losses
from tailrace.verdict.explanations import SCALABILITY_NAMES
from tailrace.verdict.processors import losses_of
from tailrace.verdict.scaling import seems_weak, work_of

# Factors that are not products of others.
LEAVES = ("load_balance", "serialization", "io_balance", "io_transfer", "transfer", "processors")

# The part of the run time that a factor is about, where it has another name.
PARTS_OF_FACTORS = {"load_balance": "imbalance", "computation": "useful"}
# A factor explains why a run takes longer than the reference promised where its part has so much of
# that time: where hardly anything is computed, an imbalance of that is a small factor and no loss.
EXPLAINS = 0.25

# A row of the scaling table, and the columns of its trace.
Run = tuple[dict[str, Any], dict[str, Any]]


def headline_of_several(
    traces: Sequence[dict[str, Any]], labels: Sequence[str], scaling: dict[str, Any]
) -> str:
    """One sentence. `traces` and `labels` are in the order of the scaling table's rows.

    True of runs of one program on different numbers of ranks: where the run is fastest, and the
    factor that falls most from the reference to the most ranks. On the same number of ranks the
    fastest is compared with the slowest. Where the programs differ, nothing is compared.
    """
    programs = programs_of(traces)
    if len(programs) > 1:
        return (
            f"These traces are of different programs ({', '.join(programs)}):"
            " their times stand beside each other and say nothing about scaling."
        )
    if len(traces) == 2 and scaling["rows"][0]["ranks"] == scaling["rows"][1]["ranks"]:
        return sentence(traces[0], traces[1], (labels[0], labels[1]))
    rows = scaling["rows"]
    if len({row["ranks"] for row in rows}) < len(rows):
        fastest, slowest = (
            choose(range(len(rows)), key=lambda i: rows[i]["runtime_s"]) for choose in (min, max)
        )
        between = sentence(traces[fastest], traces[slowest], (labels[fastest], labels[slowest]))
        return f"{labels[fastest]} is the fastest of {len(rows)} runs. {between}"
    line = _scaling(list(zip(rows, traces, strict=True)), scaling)
    return f"{line}{_other_commands(traces, scaling)}"


def _other_commands(traces: Sequence[dict[str, Any]], scaling: dict[str, Any]) -> str:
    """Where more than the ranks was changed, that may be what the runs differ by."""
    words = differences_of(traces, paths=False)
    if len(set(words)) == 1:
        return ""
    runs = zip(words, scaling["rows"], strict=True)
    named = [f"{word or 'without these'} on {count(row['ranks'], 'rank')}" for word, row in runs]
    return f" More than the ranks differs in their command lines: {', '.join(named)}."


def programs_of(traces: Sequence[dict[str, Any]]) -> list[str]:
    """The names of the executables, each once; empty where traces do not say."""
    names = [base_name(columns["meta"].get("exe", "")) for columns in traces]
    return sorted(set(filter(None, names)))


def _scaling(runs: list[Run], scaling: dict[str, Any]) -> str:
    fewest, most = runs[0], runs[-1]
    fastest = min(runs, key=lambda run: run[0]["runtime_s"])
    first, last, best = fewest[0], most[0], fastest[0]
    ends = f"{seconds(first['runtime_s'])} → {seconds(last['runtime_s'])}"
    span = f"From {first['ranks']} to {count(last['ranks'], 'rank')}"
    change = last["runtime_s"] / first["runtime_s"] - 1 if first["runtime_s"] else 0.0
    reference = next(run for run in runs if run[0]["ranks"] == scaling["reference_ranks"])
    lost = _lost(fastest if best is not last else fewest, most, reference, scaling["kind"])
    because = f", mostly because {lost}" if lost else ""
    if scaling["kind"] == "weak":
        grows = "seems to grow" if seems_weak(scaling) else "grows"
        longer = f"takes {percent(change)} longer" if change > SAME_SHARE else "takes no longer"
        because = because if change > SAME_SHARE else ""
        return f"{span}, with a problem that {grows} with them, the run {longer}, {ends}{because}."
    if best is not last and best is not first:
        where = f"{count(best['ranks'], 'rank')}, {seconds(best['runtime_s'])}"
        beyond = f"on {count(last['ranks'], 'rank')} it takes {seconds(last['runtime_s'])}"
        return f"The run is fastest on {where}; {beyond}{because}."
    if abs(change) <= SAME_SHARE:
        return f"{span} the run time stays the same, {ends}{because}."
    if change > 0:
        return f"{span} the run becomes slower, {ends}{because}."
    speedup = first["runtime_s"] / last["runtime_s"]
    held_back = f"; what costs most is that {lost}" if lost else ""
    return f"{span} the run becomes {speedup:.2f} times as fast, {ends}{held_back}."


def _lost(first: Run, last: Run, reference: Run, kind: str) -> str:
    """The factor that falls to the smallest part of itself, of those that explain the time beyond
    what the first run promised; else the part of the run time that has most of that."""
    share = 1.0 if kind == "weak" else first[0]["ranks"] / last[0]["ranks"]
    before, after = parts_of(first[1]), parts_of(last[1])
    beyond = {key: after[key] - share * before[key] for key in after}
    enough = EXPLAINS * sum(beyond.values())
    falls = [
        (now / was, name, was, now)
        for (key, name, was), (_, _, now) in zip(
            _factors(first, reference), _factors(last, reference), strict=True
        )
        if was and now is not None and now < was * (1 - SAME_SHARE) and beyond[key] >= enough
    ]
    if falls:
        _, name, was, now = min(falls)
        return f"{name} falls from {percent(was)} to {percent(now)}"
    most = max(beyond, key=lambda key: beyond[key])
    if beyond[most] <= SAME_SHARE * sum(after.values()):
        return ""
    return f"{part_names()[most]} goes from {seconds(before[most])} to {seconds(after[most])}"


def _factors(run: Run, reference: Run) -> list[tuple[str, str, float | None]]:
    """The part of the run time that each is about, its name and its value. Waits for a processor
    are a factor of their own, and in no other."""
    row, columns = run
    values = factors_of_losses(int(columns["runtime_ns"]), losses_of(columns))
    leaves = [
        (PARTS_OF_FACTORS.get(factor.key, factor.key), _inside(factor.name), values[factor.key])
        for factor in FACTORS_WITHOUT_WAITS
        if factor.key in LEAVES
    ]
    computation = row["scalability"]["computation"]
    if computation is not None:
        computation *= _computed(reference[1]) / _computed(columns)
    return [*leaves, ("useful", _inside(SCALABILITY_NAMES["computation"]), computation)]


def _computed(columns: dict[str, Any]) -> float:
    """Of the useful time, what is no wait for a processor."""
    work = work_of(columns)
    return work.computed_ns / work.useful_ns if work.computed_ns else 1.0


def _inside(name: str) -> str:
    """A factor's name inside a sentence."""
    return name if name.startswith("I/O") else name[0].lower() + name[1:]
