"""Draws docs/explanation/papers/NAME.svg: each paper's figure on its own axes from the results of
its study, and the paper's numbers beside ours where it gives any. Puts the tables of what became of
every expectation into docs/explanation/papers.md.

    python tools/paper_figures.py DIRECTORY      # which holds study-cmaq-small, study-roms-small, …
"""

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import tailrace
from tailrace.study.analysis.findings import FindingKind
from tailrace.study.analysis.intervals import typical
from tailrace.study.library import Study

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "papers.md"
FIGURES = PAGE.with_suffix("")
PANEL_INCHES = (3.6, 2.9)
SMALL_SHARE = 0.3
COLOURS = ("#1b6ca8", "#c8501e", "#3b7d3b", "#7b4fa3")
Points = Sequence[tuple[float, float]]
Lines = Mapping[str, Points]


@dataclass(frozen=True)
class Panel:
    """One plot of our results. `lines`: the factors whose levels are lines. `divisor`: of what is
    on the axis, as for ranks of which two make a node. `bars`: the axis has words, not numbers.
    """

    title: str
    x: str
    y: str
    label: str
    lines: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    x_label: str = "processes"
    divisor: int = 1
    bars: bool = False


@dataclass(frozen=True)
class Published:
    """One plot of the paper's own numbers. `ticks`: on the axis, where it has numbers; `words`,
    where it has words."""

    title: str
    label: str
    lines: Lines
    x_label: str = "processes"
    ticks: tuple[int, ...] = ()
    words: tuple[str, ...] = ()


def cmaq() -> Iterator[Panel | Published]:
    responses = {
        "user_per_rank_s": "user time of a rank",
        "system_s": "system time",
        "elapsed_s": "elapsed time",
    }
    for row, (size, cells) in enumerate({"large": "67×78×21", "small": "38×38×6"}.items()):
        for column, (response, name) in enumerate(responses.items()):
            title = f"2{'abcdef'[row * 3 + column]}  {name}, {cells}"
            yield Panel(
                title,
                "ranks",
                response,
                "s",
                ("read_target", "target"),
                {"size": size},
                "processors",
            )


ROMS_PAPER = {
    "elapsed_s": {"serial": (105.21, 115.96), "collective": (111.01, 151.70)},
    "system_s": {"serial": (15.729, 15.661), "collective": (4.140, 4.899)},
}


def roms() -> Iterator[Panel | Published]:
    disks = ("own disk", "network")
    for response, name in (("elapsed_s", "elapsed time"), ("system_s", "system time")):
        paper = {method: list(enumerate(values)) for method, values in ROMS_PAPER[response].items()}
        yield Published(f"the paper: {name}", "s", paper, "written to", words=disks)
        yield Panel(
            f"here: {name}", "target", response, "s", ("method",), x_label="written to", bars=True
        )


# The local disk, their control, is in the sentence below the table.
PARALLEL = {"target": "parallel"}


def wrf() -> Iterator[Panel | Published]:
    yield Panel(
        "1  WRF, wall-clock time",
        "ranks",
        "elapsed_s",
        "s",
        ("output",),
        PARALLEL,
        x_label="nodes of two",
        divisor=2,
    )


def h5perf() -> Iterator[Panel | Published]:
    yield Panel(
        "2  h5perf, throughput",
        "ranks",
        "write_rate_mb_per_s",
        "MB/s",
        ("transfer_bytes",),
        PARALLEL,
        x_label="nodes",
    )


def btio() -> Iterator[Panel | Published]:
    shares = {
        "pop_load_balance": "load balance",
        "pop_transfer": "transfer efficiency",
        "pop_serialization": "serialization efficiency",
    }
    several = {"ranks": [4, 9]}
    for response, name in shares.items():
        yield Panel(
            f"{name}, class W", "ranks", response, "", ("target",), several | {"class": "W"}
        )
    # beside the control's rate no other would be seen
    servers = {"target": ["nfs", "striped", "single"]}
    for response, name, unit, where in (
        ("elapsed_s", "run time", "s", {}),
        ("write_rate_whole_mb_per_s", "transfer rate, writing", "MB/s", servers),
        ("shared_read_share", "share of reading in shared files", "", {}),
    ):
        title = f"{name}, class W"
        yield Panel(title, "ranks", response, unit, ("target",), {"class": "W"} | where)
    ours = {"load_balance": "load balance", "serialization": "serialization", "io": "I/O"}
    for response, name in ours.items():
        title = f"Tailrace's {name} efficiency, class W"
        yield Panel(
            title, "ranks", f"efficiency_{response}", "", ("target",), several | {"class": "W"}
        )


def calculix() -> Iterator[Panel | Published]:
    for response, name, unit in (
        ("elapsed_s", "run time", "s"),
        ("posix_rate_mb_per_s", "POSIX transfer rate", "MB/s"),
        ("stdio_rate_mb_per_s", "STDIO transfer rate", "MB/s"),
        ("shared_write_s", "time in shared writes", "s"),
    ):
        yield Panel(name, "threads", response, unit, ("target",), x_label="threads")


# Read off its figures, whose scales are coarse: first and last points.
CGNS_READ_PAPER: Lines = {"256³": [(1, 13), (4, 9), (8, 16), (50, 4)]}
CGNS_NFS_PAPER: Lines = {"150³": [(1, 5), (8, 218)], "250³": [(1, 19), (4, 130)]}
CGNS_PVFS_PAPER: Lines = {"50³": [(8, 4)], "150³": [(1, 3), (8, 15)], "250³": [(1, 16), (8, 50)]}
CGNS_CREATE_PAPER: Lines = {"50³": [(16, 0.5)], "150³": [(16, 3.3)], "250³": [(16, 11.7)]}


def cgns_read() -> Iterator[Panel | Published]:
    yield Published("4  the paper: reading, PVFS2", "s", CGNS_READ_PAPER, ticks=(1, 4, 8, 50))
    yield Panel("3  here: reading, striped", "ranks", "input_s", "s", ("points",), PARALLEL)


def cgns_write() -> Iterator[Panel | Published]:
    on = {"nfs": {"target": "nfs"}, "parallel": PARALLEL}
    lines = ("points",)
    ticks = (1, 2, 4, 8)
    yield Published("6  the paper: all, NFS", "s", CGNS_NFS_PAPER, ticks=ticks)
    yield Panel("6  here: all, NFS", "ranks", "output_s", "s", lines, on["nfs"])
    yield Published("7  the paper: all, PVFS2", "s", CGNS_PVFS_PAPER, ticks=ticks)
    yield Panel("7  here: all, striped", "ranks", "output_s", "s", lines, on["parallel"])
    yield Published("8  the paper: creating, PVFS2", "s", CGNS_CREATE_PAPER, ticks=(*ticks, 16))
    yield Panel("8  here: creating, striped", "ranks", "create_s", "s", lines, on["parallel"])


PAPERS = {
    "cmaq": (cmaq, 3),
    "roms": (roms, 2),
    "wrf": (wrf, 1),
    "h5perf": (h5perf, 1),
    "btio": (btio, 3),
    "calculix": (calculix, 2),
    "cgns-write": (cgns_write, 2),
    "cgns-read": (cgns_read, 2),
}


# --- drawing
# ------------------------------------------------------------------------------------------------


def draw(study: Study, panels: list[Panel | Published], columns: int) -> Figure:
    rows = -(-len(panels) // columns)
    figure = Figure(
        figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows), layout="constrained"
    )
    for panel, axes in zip(
        panels, figure.subplots(rows, columns, squeeze=False).flat, strict=False
    ):
        _draw_published(axes, panel) if isinstance(panel, Published) else _draw_ours(
            axes, panel, study
        )
        axes.set_title(panel.title, loc="left", fontsize="medium")
        axes.set_xlabel(panel.x_label)
        axes.set_ylabel(panel.label)
        top = axes.get_ylim()[1]
        # what has no unit is a share
        axes.set_ylim(0, 1.05 if not panel.label and top > SMALL_SHARE else top)
    _legends(figure)
    return figure


def _legends(figure: Figure) -> None:
    """One below all where every panel has the same lines; else one in each."""
    keys = [axes.get_legend_handles_labels() for axes in figure.axes]
    if all(labels == keys[0][1] for _, labels in keys):
        figure.legend(
            *keys[0], loc="outside lower center", ncols=2, fontsize="small", frameon=False
        )
        return
    for axes in figure.axes:
        axes.legend(fontsize="small", frameon=False)


def _draw_published(axes: Axes, panel: Published) -> None:
    """Bars where the axis has words; else its points, joined by dashes as what lies between was not
    read off."""
    for number, (name, points) in enumerate(panel.lines.items()):
        x, y = zip(*points, strict=True)
        if panel.words:
            axes.bar(
                [_beside(place, number) for place in x], y, 0.35, color=COLOURS[number], label=name
            )
        else:
            axes.plot(x, y, "--o", color=COLOURS[number], label=name)
    axes.set_xticks(*((range(len(panel.words)), panel.words) if panel.words else (panel.ticks,)))


def _draw_ours(axes: Axes, panel: Panel, study: Study) -> None:
    data = _selected(study.done, panel.where)
    levels = [level for level in study.factors[panel.x]["levels"] if level in set(data[panel.x])]
    ticks = list(range(len(levels))) if panel.bars else [level / panel.divisor for level in levels]
    for number, (name, rows) in enumerate(_by_line(data, study, panel.lines)):
        found = [
            typical(rows.loc[rows[panel.x] == level, panel.y].to_numpy(float)) for level in levels
        ]
        values = [estimate.value for estimate in found]
        errors = [
            [estimate.value - estimate.low for estimate in found],
            [estimate.high - estimate.value for estimate in found],
        ]
        look = {"color": COLOURS[number], "label": name, "capsize": 3}
        if panel.bars:
            axes.bar([_beside(place, number) for place in ticks], values, 0.35, yerr=errors, **look)
        else:
            axes.errorbar(ticks, values, errors, fmt="-o", **look)
    axes.set_xticks(
        ticks,
        [_label(study, panel.x, level) for level in levels]
        if panel.bars
        else [f"{x:g}" for x in ticks],
    )


def _beside(place: int, number: int) -> float:
    """Where a bar stands: two share a place."""
    return place + (number - 0.5) * 0.36


def _selected(data: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    for name, level in where.items():
        data = data[data[name].isin(level if isinstance(level, list) else [level])]
    return data


def _by_line(
    data: pd.DataFrame, study: Study, factors: tuple[str, ...]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """In the order of the study file, so that a colour means the same in all panels."""
    for levels in itertools.product(*(study.factors[name]["levels"] for name in factors)):
        chosen = dict(zip(factors, levels, strict=True))
        yield (
            ", ".join(_label(study, name, level) for name, level in chosen.items()),
            _selected(data, chosen),
        )


def _label(study: Study, name: str, level: Any) -> str:
    factor = study.factors[name]
    text = factor["labels"][factor["levels"].index(level)]
    verbs = {"read_target": "reads ", "target": "writes "} if "read_target" in study.factors else {}
    return verbs.get(name, "") + text


# --- what was expected
# ------------------------------------------------------------------------------------------------


def answers(study: Study) -> Iterator[str]:
    """A table of Markdown, and what the control takes."""
    yield "| the paper | here | evidence |"
    yield "|---|---|---|"
    for answer in study.report.answers:
        there = f" (there: {answer.paper_value})" if answer.paper_value else ""
        yield f"| {answer.claim}{there} | **{answer.answer}** | {answer.evidence} |"
    for finding in study.report.found.findings:
        if finding.kind is FindingKind.CONTROL:
            yield from ("", f"{finding.text[0].upper()}{finding.text[1:]}.")


def with_table(page: str, name: str, table: Iterable[str]) -> str:
    """The page with the lines between `<!-- NAME -->` and the next `<!-- -->` made anew."""
    before, mark, after = page.partition(f"<!-- {name} -->\n")
    _, end, rest = after.partition("<!-- -->\n")
    if not mark or not end:
        sys.exit(f"{PAGE} has no place for the table of {name}")
    return "\n".join([before + mark, *table, "", end + rest])


def main(directory: Path) -> None:
    matplotlib.rcParams |= {
        "svg.fonttype": "none",
        "svg.hashsalt": "papers",
        "font.family": "sans-serif",
    }
    FIGURES.mkdir(exist_ok=True)
    for name, (panels, columns) in PAPERS.items():
        study = tailrace.open_study(directory / f"study-{name}-small")
        draw(study, list(panels()), columns).savefig(
            FIGURES / f"{name}.svg", metadata={"Date": None}
        )
        PAGE.write_text(with_table(PAGE.read_text(), name, answers(study)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
