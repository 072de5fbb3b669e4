"""The report in the terminal. The first line is the verdict; names are escaped; nothing depends on colour."""

import os
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tailrace.explanations import POP_FACTORS, TAILRACE_FACTORS, Factor, grade
from tailrace.names import base_name, elided
from tailrace.units import byte_count, count, percent, seconds

TOP_FILES = 8
TOP_RANKS = 8
PATH_WIDTH = 60
# Of text that goes to a file or a pipe.
FILE_WIDTH = 110
# What the files table's other columns take.
FILE_COLUMNS_WIDTH = 74
# Formulas are shown where the meanings still fit beside them on one line.
FORMULA_WIDTH = 120
STYLES = {"good": "green", "fair": "yellow", "poor": "red", "unknown": "dim"}


def console(stderr: bool = False) -> Console:
    """No markup and no highlighting: names of files must not be read as either."""
    result = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not result.is_terminal and "COLUMNS" not in os.environ:
        result.width = FILE_WIDTH
    return result


def table(title: str, *columns: str) -> Table:
    """A plain table; columns whose heading starts with ">" are aligned to the right."""
    result = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    for column in columns:
        result.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold")
    return result


def print_report(report: dict[str, Any], name: str, out: Console | None = None) -> None:
    """Prints one report (the JSON object) for a person."""
    out = out or console()
    out.print(Text(report["headline"], style="bold"), soft_wrap=True)
    blocks = (summary, verdict, efficiency_tables, files_table, ranks_table, layers, capture, warnings)
    for block in blocks:
        more = {summary: (name,), efficiency_tables: (out.width >= FORMULA_WIDTH,), files_table: (out.width,)}.get(
            block, ()
        )
        content = block(report, *more)
        if content is not None:
            out.print()
            out.print(content, soft_wrap=isinstance(content, Text))


def summary(report: dict[str, Any], name: str) -> RenderableType:
    line = Text(f"{name}: {count(report['ranks'], 'rank')}, run time {seconds(report['runtime_s'])}; ")
    parts = (("useful", "useful_s"), ("I/O", "io_s"), ("MPI", "mpi_s"))
    spent = ", ".join(f"{label} {seconds(report[key]['mean'])}" for label, key in parts)
    return line.append(f"a rank spends {spent} on average")


def verdict(report: dict[str, Any]) -> RenderableType | None:
    if not report["verdict"]:
        return None
    lines: list[RenderableType] = [Text("Findings", style="bold")]
    for finding in report["verdict"]:
        lines.append(Text(f"{percent(finding['share_of_runtime']):>7}  {finding['finding']}"))
        for text in filter(None, (finding["evidence"], finding["gain"])):
            lines.append(Padding(Text(text, style="dim"), (0, 0, 0, 9), expand=False))
    return Group(*lines)


def efficiency_tables(report: dict[str, Any], formulas: bool) -> RenderableType:
    ours = _factor_table("Efficiencies (I/O as a factor of its own)", TAILRACE_FACTORS, report["efficiency"], formulas)
    pops = _factor_table("Official POP view", POP_FACTORS, report["pop"], formulas)
    return Group(ours, Text(), pops)


def _factor_table(title: str, factors: tuple[Factor, ...], values: dict[str, float | None], formulas: bool) -> Table:
    result = table(title, "factor", ">value", *(["formula"] if formulas else []), "meaning")
    for factor in factors:
        value = values[factor.key]
        shown = Text(percent(value), style=STYLES[grade(value)])
        formula = [factor.formula] if formulas else []
        result.add_row("  " * factor.depth + factor.name, shown, *formula, factor.meaning)
    return result


def files_table(report: dict[str, Any], width: int) -> RenderableType | None:
    files = report["files"]
    if not files:
        return None
    title = "Files" if len(files) <= TOP_FILES else f"Files (the {TOP_FILES} with most time of {len(files):,})"
    result = table(title, "file", ">ranks", ">read", ">written", ">reads", ">writes", ">other", ">time", ">MB/s a rank")
    for row in files[:TOP_FILES]:
        result.add_row(elided(row["path"], max(width - FILE_COLUMNS_WIDTH, 18)), *_file_cells(row))
    return result


def _file_cells(row: dict[str, Any]) -> tuple[str, ...]:
    time_s = row["read_s"] + row["write_s"] + row["metadata_s"]
    moved = row["bytes_read"] + row["bytes_written"]
    moving_s = row["read_s"] + row["write_s"]
    speed = f"{moved / moving_s / 1e6:,.1f}" if moving_s else "–"
    calls = (f"{row[key]:,}" for key in ("reads", "writes", "metadata_calls"))
    return (
        str(row["ranks"]),
        byte_count(row["bytes_read"]),
        byte_count(row["bytes_written"]),
        *calls,
        seconds(time_s),
        speed,
    )


def ranks_table(report: dict[str, Any]) -> RenderableType:
    ranks = report["per_rank"]
    shown = sorted(ranks, key=lambda row: -row["io_s"])[:TOP_RANKS] if len(ranks) > TOP_RANKS else ranks
    title = "Ranks" if shown is ranks else f"Ranks (the {TOP_RANKS} with most I/O of {len(ranks):,})"
    result = table(title, ">rank", ">useful", ">I/O", ">MPI", ">read", ">written", ">overlapped I/O", "host")
    for row in shown:
        times = (seconds(row[f"{state}_s"]) for state in ("useful", "io", "mpi"))
        moved = (byte_count(row[key]) for key in ("bytes_read", "bytes_written"))
        overlapped = seconds(row["overlapped_io_s"]) if row["overlapped_io_s"] else "–"
        result.add_row(str(row["rank"]), *times, *moved, overlapped, elided(row["host"], 30))
    return result


def layers(report: dict[str, Any]) -> RenderableType | None:
    layer = report["layers"]
    if not layer["mpiio_s"]:
        return None
    return Text(
        f"Layers (sums over ranks): {seconds(layer['mpiio_s'])} in MPI-IO, of which "
        f"{seconds(layer['posix_in_mpiio_s'])} in POSIX calls and {seconds(layer['between_s'])} between the layers"
    )


def capture(report: dict[str, Any]) -> RenderableType:
    cost = report["capture"]
    text = f"Capture: {count(cost['events'], 'event')}"
    if cost["cost_ns_per_event"]:
        text += f", {cost['cost_ns_per_event']:.0f} ns each, {percent(cost['overhead_share'])} of the run time"
    state = "complete" if cost["complete"] else "not complete"
    return Text(f"{text}; {cost['events_lost']:,} lost; trace {state}")


def warnings(report: dict[str, Any]) -> RenderableType | None:
    texts = [warning["message"] for warning in report["warnings"]] + report["capture"]["notes"]
    return Group(*(Text(f"note: {text}") for text in texts)) if texts else None


def print_scaling(scaling: dict[str, Any], out: Console | None = None) -> None:
    """The scaling table: one column per run, as POP prints it."""
    out = out or console()
    rows = scaling["rows"]
    result = table("Scaling", "", *(f">{count(row['ranks'], 'rank')}" for row in rows))
    result.add_row("run time", *(seconds(row["runtime_s"]) for row in rows))
    result.add_row("speedup", *("–" if row["speedup"] is None else f"{row['speedup']:.2f}" for row in rows))
    result.add_row("Global efficiency", *(percent(row["global"]) for row in rows))
    for factor in TAILRACE_FACTORS:
        values = (row["efficiency"][factor.key] for row in rows)
        result.add_row("  " * (factor.depth + 1) + factor.name, *map(percent, values))
    for key, name in SCALABILITY_NAMES.items():
        depth = 1 if key == "computation" else 2
        result.add_row("  " * depth + name, *(percent(row["scalability"][key]) for row in rows))
    out.print(result)
    out.print(Text(scaling_words(scaling), style="dim"), soft_wrap=True)


SCALABILITY_NAMES = {
    "computation": "Computation scalability",
    "instruction": "Instruction scalability",
    "ipc": "IPC scalability",
    "frequency": "Frequency scalability",
}


def scaling_words(scaling: dict[str, Any]) -> str:
    """What the table is measured against, and what could not be measured."""
    kinds = {
        "strong": "Strong scaling (the ranks share one problem)",
        "weak": "Weak scaling (the problem grows with the ranks; speedup is scaled)",
        "none": "The same number of ranks in all runs",
    }
    reference = f"the reference is the run on {count(scaling['reference_ranks'], 'rank')}"
    text = f"{kinds[scaling['kind']]}; {reference}, {seconds(scaling['reference_runtime_s'])}."
    if not scaling["counters"]:
        text += " Hardware counters were not available: instruction, IPC and frequency scalability are not known."
    return text


def print_verdict(report: dict[str, Any], out: Console, most: int = 3) -> None:
    """The short form after a run."""
    out.print(Text(report["headline"], style="bold"), soft_wrap=True)
    for finding in report["verdict"][:most]:
        out.print(Text(f"{percent(finding['share_of_runtime']):>7}  {finding['finding']}"), soft_wrap=True)
        if finding["gain"]:
            out.print(Text(f"{'':9}{finding['gain']}", style="dim"), soft_wrap=True)


def trace_name(path: str) -> str:
    return elided(base_name(path), PATH_WIDTH)
