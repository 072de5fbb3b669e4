"""The report in the terminal. The first line is the verdict; names are escaped; nothing depends on
colour."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from tailrace.names import base_name, elided
from tailrace.report.dependences import critical_path, wait_states
from tailrace.report.short import short_lines, what_to_do
from tailrace.terminal import console, table
from tailrace.units import byte_count, count, percent, seconds
from tailrace.verdict.as_json import bytes_per_s
from tailrace.verdict.efficiencies import (
    FACTORS_WITHOUT_WAITS,
    POP_FACTORS,
    TAILRACE_FACTORS,
    Factor,
)
from tailrace.verdict.evidence import ON_FILE_SYSTEM
from tailrace.verdict.explanations import (
    SCALABILITY_NAMES,
    grade,
    scaling_words,
)
from tailrace.verdict.processors import NOTABLE_WAIT

TOP_FILES = 8
TOP_RANKS = 8
TOP_ELSEWHERE = 3
PATH_WIDTH = 60
LABEL_WIDTH = 24
NAME_WIDTH = 36
# What the files table's other columns take.
FILE_COLUMNS_WIDTH = 74
# Formulas are shown where the meanings still fit beside them on one line.
FORMULA_WIDTH = 120
STYLES = {"good": "green", "fair": "yellow", "poor": "red", "unknown": "dim"}


def print_report(report: dict[str, Any], name: str, out: Console | None = None) -> None:
    """Prints one report (the JSON object) for a person."""
    out = out or console()
    out.print(Text(report["headline"], style="bold"), soft_wrap=True)
    blocks = (
        summary,
        verdict,
        critical_path,
        wait_states,
        efficiency_tables,
        files_table,
        gathered,
        called_from,
        elsewhere,
        ranks_table,
        layers,
        capture,
        warnings,
    )
    for block in blocks:
        more = {
            summary: (name,),
            efficiency_tables: (out.width >= FORMULA_WIDTH,),
            files_table: (out.width,),
        }.get(block, ())
        content = block(report, *more)
        if content is not None:
            out.print()
            out.print(content, soft_wrap=isinstance(content, Text))


def summary(report: dict[str, Any], name: str) -> RenderableType:
    spent = _spent(report)
    run_time = f"run time {seconds(report['runtime_s'])}"
    if report["ranks"] == 1:
        return Text(f"{name}: {run_time}: {spent}")
    ranks = count(report["ranks"], "rank")
    return Text(f"{name}: {ranks}, {run_time}; on average a rank spends {spent}")


def _spent(report: dict[str, Any]) -> str:
    """`1.94 s outside MPI and file calls (useful), 91.8 ms in files and 6.42 s in MPI, 7.45 s of
    all that waiting for a processor`: what is no time at all is left out."""
    mpi = report["meta"].get("mpi") or report["mpi_s"]["mean"]
    outside = "outside MPI and file calls" if mpi else "outside file calls"
    parts = ((f"{outside} (useful)", "useful_s"), ("in files", "io_s"), ("in MPI", "mpi_s"))
    times = [(seconds(report[key]["mean"]), where) for where, key in parts if report[key]["mean"]]
    *most, last = [" ".join(part) for part in times] or ["no time"]
    spent = f"{', '.join(most)} and {last}" if most else last
    ranks = report["per_rank"]
    if unknown := sum(rank["unknown_s"] for rank in ranks):
        spent += f" ({seconds(unknown / report['ranks'])} of it not known)"
    waits = [sum(known.values()) for rank in ranks if (known := rank["processor_wait_s"])]
    if (report["processors"] or {}).get("efficiency"):
        spent += f", {seconds(sum(waits) / len(waits))} of all that waiting for a processor"
    return spent


def verdict(report: dict[str, Any]) -> RenderableType | None:
    if not report["verdict"]:
        return None
    rows = Table.grid(padding=(0, 2, 0, 0))
    rows.add_column(justify="right", min_width=7)
    for finding in report["verdict"]:
        rows.add_row(percent(finding["share_of_runtime"]), Text(finding["finding"]))
        for text in filter(None, (finding["evidence"], *what_to_do(finding))):
            rows.add_row("", Text(text, style="dim"))
    return Group(Text("Findings", style="bold"), rows)


def efficiency_tables(report: dict[str, Any], formulas: bool) -> RenderableType:
    apart = (report["processors"] or {}).get("efficiency")
    ours = _factor_table(
        "Efficiencies (I/O as a factor of its own)",
        FACTORS_WITHOUT_WAITS if apart else TAILRACE_FACTORS,
        report["efficiency"],
        formulas,
        apart,
    )
    view = "Official POP view"
    pops = _factor_table(
        f"{view} (waits for a processor included)" if apart else view,
        POP_FACTORS,
        report["pop"],
        formulas,
    )
    talked = any(row["overlapped_mpi_s"] for row in report["per_rank"])
    alone = Text("of the main threads alone: other threads call MPI too", style="dim")
    return Group(ours, *([alone] if talked else []), Text(), pops)


def _factor_table(
    title: str,
    factors: tuple[Factor, ...],
    values: dict[str, float | None],
    formulas: bool,
    apart: dict[str, float | None] | None = None,
) -> Table:
    """`apart`: the values where waits for a processor are a factor of their own."""
    numbers = [">measured", ">waits apart"] if apart else [">value"]
    result = table(title, "factor", *numbers, *(["formula"] if formulas else []), "meaning")
    for factor in factors:
        shown = [_graded(values[factor.key]) if factor.key in values else Text("–")]
        shown += [_graded(apart[factor.key])] if apart else []
        formula = [factor.formula] if formulas else []
        result.add_row("  " * factor.depth + factor.name, *shown, *formula, factor.meaning)
    return result


def _graded(value: float | None) -> Text:
    return Text(percent(value), style=STYLES[grade(value)])


def files_table(report: dict[str, Any], width: int) -> RenderableType | None:
    files = [row for row in report["files"] if row["place"] == ON_FILE_SYSTEM]
    if not files:
        return None
    title = (
        "Files"
        if len(files) <= TOP_FILES
        else f"Files (the {TOP_FILES} with most time of {len(files):,})"
    )
    result = table(
        title,
        "file",
        ">ranks",
        ">read",
        ">written",
        ">reads",
        ">writes",
        ">other",
        ">time",
        ">MB/s a rank",
    )
    for row in files[:TOP_FILES]:
        result.add_row(elided(row["path"], max(width - FILE_COLUMNS_WIDTH, 18)), *_file_cells(row))
    return result


def elsewhere(report: dict[str, Any]) -> RenderableType | None:
    """What looks like files and lies on no file system: no part of the I/O."""
    rows = [row for row in report["files"] if row["place"] != ON_FILE_SYSTEM]
    if not rows:
        return None
    calls = ("reads", "writes", "metadata_calls")
    named = [
        f"{elided(row['path'], PATH_WIDTH)} ({count(sum(row[key] for key in calls), 'call')})"
        for row in rows[:TOP_ELSEWHERE]
    ]
    more = [f"{len(rows) - TOP_ELSEWHERE:,} more"] if len(rows) > TOP_ELSEWHERE else []
    return Text(f"On no file system, not counted as I/O: {', '.join(named + more)}")


def gathered(report: dict[str, Any]) -> RenderableType | None:
    """Prints that the buffer of C's stdio made fewer requests of."""
    kinds = (("print", "prints", "writes"), ("read of stdio", "reads of stdio", "reads"))
    texts = [
        f"{elided(row['path'], PATH_WIDTH)} ({count(row[f'buffered_{column}'], *noun)} in"
        f" {count(row[column], 'request')})"
        for row in report["files"][:TOP_FILES]
        for *noun, column in kinds
        if row["place"] == ON_FILE_SYSTEM and row[f"buffered_{column}"] > row[column]
    ]
    more = [f"{len(texts) - TOP_ELSEWHERE:,} more"] if len(texts) > TOP_ELSEWHERE else []
    listed = ", ".join(texts[:TOP_ELSEWHERE] + more)
    return Text(f"Gathered by stdio's buffer: {listed}") if texts else None


def called_from(report: dict[str, Any]) -> RenderableType | None:
    """Of each file of the table the place from which most of its time is spent."""
    files = [row for row in report["files"] if row["place"] == ON_FILE_SYSTEM and row["places"]]
    if not files:
        return None
    rows = Table.grid(padding=(0, 2, 0, 0))
    for row in files[:TOP_FILES]:
        place = row["places"][0]
        name = elided(row["path"], NAME_WIDTH)
        rows.add_row(name, seconds(place["time_s"]), Text(place["place"]))
    return Group(Text("Called from", style="bold"), rows)


def _file_cells(row: dict[str, Any]) -> tuple[str, ...]:
    time_s = row["read_s"] + row["write_s"] + row["metadata_s"]
    speed = bytes_per_s(row)
    calls = (f"{row[key]:,}" for key in ("reads", "writes", "metadata_calls"))
    return (
        str(row["ranks"]),
        byte_count(row["bytes_read"]),
        byte_count(row["bytes_written"]),
        *calls,
        seconds(time_s),
        f"{speed / 1e6:,.1f}" if speed else "–",
    )


def ranks_table(report: dict[str, Any]) -> RenderableType:
    ranks = report["per_rank"]
    shown = (
        sorted(ranks, key=lambda row: -row["io_s"])[:TOP_RANKS] if len(ranks) > TOP_RANKS else ranks
    )
    title = (
        "Ranks" if shown is ranks else f"Ranks (the {TOP_RANKS} with most I/O of {len(ranks):,})"
    )
    waits = bool(report["processors"]) and report["processors"]["share"] >= NOTABLE_WAIT
    waited = [">for a processor"] if waits else []
    talked = any(row["overlapped_mpi_s"] for row in ranks)
    others = (">overlapped I/O", *([">overlapped MPI"] if talked else []))
    columns = (">useful", ">I/O", ">MPI", *waited, ">read", ">written", *others)
    result = table(title, ">rank", *columns, "host")
    for row in shown:
        times = [seconds(row[f"{state}_s"]) for state in ("useful", "io", "mpi")]
        times += [_waited(row["processor_wait_s"])] if waits else []
        moved = (byte_count(row[key]) for key in ("bytes_read", "bytes_written"))
        keys = ("overlapped_io_s", *(["overlapped_mpi_s"] if talked else []))
        overlapped = (seconds(row[key]) if row[key] else "–" for key in keys)
        result.add_row(str(row["rank"]), *times, *moved, *overlapped, elided(row["host"], 30))
    return result


def _waited(by_state: dict[str, float] | None) -> str:
    return "–" if by_state is None else seconds(sum(by_state.values()))


def layers(report: dict[str, Any]) -> RenderableType | None:
    layer = report["layers"]
    if not layer["mpiio_s"]:
        return None
    return Text(
        f"Layers (sums over ranks): {seconds(layer['mpiio_s'])} in MPI-IO, of which "
        f"{seconds(layer['posix_in_mpiio_s'])} in POSIX calls and "
        f"{seconds(layer['between_s'])} between the layers"
    )


def capture(report: dict[str, Any]) -> RenderableType:
    cost = report["capture"]
    text = f"Capture: {count(cost['events'], 'event')}"
    if cost["overhead_measured"]:
        text += f", which took {seconds(cost['overhead_s'])}, {percent(cost['overhead_share'])} "
        text += "of the run time"
    elif cost["cost_ns_per_event"]:
        text += (
            f", {cost['cost_ns_per_event']:.0f} ns each, {percent(cost['overhead_share'])} "
            "of the run time"
        )
    state = "complete" if cost["complete"] else "not complete"
    return Text(f"{text}; {cost['events_lost']:,} lost; trace {state}")


def warnings(report: dict[str, Any]) -> RenderableType | None:
    lines = []
    for warning in report["warnings"]:
        lines += [f"note: {warning['message']}", f"      hint: {warning['hint']}"]
    lines += [f"note: {text}" for text in report["capture"]["notes"]]
    return Group(*map(Text, lines)) if lines else None


def print_scaling(
    scaling: dict[str, Any], labels: Sequence[str], out: Console | None = None
) -> None:
    """The scaling table: one column per run, as POP prints it; `labels` in order of its rows."""
    out = out or console()
    rows = scaling["rows"]
    result = table("Scaling", "", *(f">{elided(label, LABEL_WIDTH)}" for label in labels))
    result.add_row("run time", *(seconds(row["runtime_s"]) for row in rows))
    result.add_row(
        "speedup", *("–" if row["speedup"] is None else f"{row['speedup']:.2f}" for row in rows)
    )
    result.add_row("Global efficiency", *(percent(row["global"]) for row in rows))
    for factor in TAILRACE_FACTORS:
        values = [row["efficiency"][factor.key] for row in rows]
        result.add_row("  " * (factor.depth + 1) + factor.name, *map(percent, values))
    for key, name in SCALABILITY_NAMES.items():
        values = [row["scalability"][key] for row in rows]
        if any(value is not None for value in values):  # three need hardware counters
            depth = 1 if key == "computation" else 2
            result.add_row("  " * depth + name, *map(percent, values))
    out.print(result)
    out.print(Text(scaling_words(scaling), style="dim"), soft_wrap=True)


def print_verdict(report: dict[str, Any], out: Console) -> None:
    for text, style in short_lines(report):
        out.print(Text(text, style=style), soft_wrap=True)


def trace_name(path: str) -> str:
    return elided(base_name(path), PATH_WIDTH)
