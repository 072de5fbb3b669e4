"""The report as one HTML page that opens without a network: template, styles and scripts of this
folder put together.

Names from the trace reach the page through MiniJinja's escaping, or through JSON whose `<`, `>` and
`&` are spelled as escapes; scripts show them as text only. The content security policy admits this
page's own script, by its hash, and nothing else, so that a name which slipped through could still
run nothing.
"""

import base64
import hashlib
import json
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace import units
from tailrace.labels import labels_of
from tailrace.names import base_name, elided
from tailrace.page.data import timeline_data
from tailrace.page.filemaps import (
    NOTABLE_SHARE,
    file_maps,
    file_time,
    file_uses,
    is_on_file_system,
)
from tailrace.page.picture import MOST_MARKS, timeline_svg
from tailrace.page.templates import rendered
from tailrace.verdict import dependences, explanations
from tailrace.verdict.as_json import bytes_per_s, report
from tailrace.verdict.efficiencies import (
    FACTORS_WITHOUT_WAITS,
    POP_FACTORS,
    TAILRACE_FACTORS,
    Factor,
)
from tailrace.verdict.evidence import Evidence
from tailrace.verdict.knobs import knobs

if TYPE_CHECKING:
    from tailrace.verdict.comparison import Difference

HERE = Path(__file__).parent
STYLES = ("style.css", "run.css", "charts.css", "media.css")
SCRIPTS = (
    "decode.js",
    "view.js",
    "format.js",
    "painting.js",
    "timeline.js",
    "lanes.js",
    "filemaps.js",
    "pointer.js",
    "keys.js",
    "statistics.js",
    "tables.js",
    "address.js",
    "knobs.js",
    "together.js",
    "main.js",
)
# Together with the tables this keeps a page of any number of traces within 3 MB.
BINS = 4096
LONGEST = 20_000
ROWS_SHOWN = 200


def render(
    traces: list[dict[str, Any]],
    names: list[str],
    labels: list[str] | None = None,
    documents: list[dict[str, Any]] | None = None,
    **scaling_options: Any,
) -> str:
    """The page of one trace, or of several side by side; `traces` are what the engine yielded,
    `labels` what the runs are called instead of what tells them apart, `documents` their reports
    where those are made already."""
    documents = documents or [report(columns) for columns in traces]
    count = len(traces)
    called = labels_of(traces, names, labels)
    alone: dict[str, Any] = {"scaling": None}
    together = _together(traces, called, scaling_options) if count > 1 else alone
    order = together["scaling"]["trace_index"] if count > 1 else [0]
    script = _script()
    values = {
        **together,
        "runs": [_run(traces[i], documents[i], names[i], called[i], count) for i in order],
        "style": style(),
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "explanations": explanations,
        "factors_of": {
            "tailrace": _records(TAILRACE_FACTORS),
            "without_waits": _records(FACTORS_WITHOUT_WAITS),
            "official": _records(POP_FACTORS),
        },
        "rows_shown": ROWS_SHOWN,
    }
    return rendered(HERE, "page.html.j2", FILTERS, values)


def _together(
    traces: list[dict[str, Any]], labels: list[str], scaling_options: dict[str, Any]
) -> dict[str, Any]:
    """Loaded for several runs only: most pages, those after a run, are of one."""
    from tailrace.page.several import together

    return together(traces, labels, **scaling_options)


def _run(
    columns: dict[str, Any], answer: dict[str, Any], name: str, label: str, count: int
) -> dict[str, Any]:
    """What the template shows of one run, which shares the page's bytes with `count - 1` others."""
    meta = columns["meta"]
    data = timeline_data(columns, BINS // count, LONGEST // count)
    maps = file_maps(columns, answer["files"], data)
    data["uses"] = file_uses(columns, maps, count)
    return {
        "name": base_name(name),
        "label": label,
        "report": answer,
        "program": elided(base_name(meta.get("program") or meta.get("exe") or name), 60),
        "picture": timeline_svg(columns, marks=MOST_MARKS // count),
        "data": safe_json(data),
        "files": _grouped(answer["files"]),
        "maps": [shown._asdict() for shown in maps],
        "functions": _functions(columns["functions"]),
        "quoted": shlex.quote(base_name(name)),
        "knobs": knobs(Evidence(columns)) if count == 1 else None,
    }


def _grouped(files: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What the run is about, and apart from it what only fills the table."""
    whole = sum(file_time(row) for row in files) or 1.0
    groups: dict[str, list[dict[str, Any]]] = {"shown": [], "looked_up": [], "elsewhere": []}
    for row in files:
        notable = row["reads"] + row["writes"] or file_time(row) >= NOTABLE_SHARE * whole
        group = "shown" if notable else "looked_up"
        groups[group if is_on_file_system(row) else "elsewhere"].append(row)
    return groups


def _functions(table: dict[str, Any]) -> list[dict[str, Any]]:
    keys = ("name", "layer", "calls", "counted", "time_ns", "bytes")
    rows = [
        dict(zip(keys, row, strict=True)) for row in zip(*(table[key] for key in keys), strict=True)
    ]
    return sorted(rows, key=lambda row: -int(row["time_ns"]))


def _records(factors: Iterable[Factor]) -> list[dict[str, Any]]:
    """For the template, where a named tuple would be a list."""
    return [factor._asdict() | {"formula": factor.formula} for factor in factors]


def style() -> str:
    """The style sheet of all pages, those of studies too."""
    return "".join(map(_read, STYLES))


def _script() -> str:
    parts = "\n".join(_read(name) for name in SCRIPTS)
    return f'(function () {{\n"use strict";\n{parts}\n}})();\n'


def _read(name: str) -> str:
    return (HERE / name).read_text("utf-8")


def safe_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _mpi_name(version: str) -> str:
    """An MPI library's name and number, of what it says about itself in MPI_Get_library_version."""
    first = version.splitlines()[0].split(",")[0]
    return elided(" ".join(first.replace("Version:", "").split()), 80)


def _change(difference: "Difference") -> str:
    """A difference with its sign."""
    show = {"s": units.seconds, "bytes": units.byte_count}.get(difference.unit, "{:,.0f}".format)
    sign = "+" if difference.change > 0 else "−" if difference.change < 0 else "±"
    return f"{sign}{show(abs(difference.change))}"


FILTERS: dict[str, Callable[..., Any]] = {
    "seconds": units.seconds,
    "percent": units.percent,
    "bytes": units.byte_count,
    "nanoseconds": units.nanoseconds,
    "count": units.count,
    "bytes_per_s": bytes_per_s,
    "elided": elided,
    "mpi_name": _mpi_name,
    "unbroken": units.unbroken,
    "grade": explanations.grade,
    "change": _change,
    "json": json.dumps,
    "part_words": dependences.part_words,
    "useful_words": dependences.useful_words,
    "wait_words": dependences.wait_words,
    "causes_of": dependences.causes_of,
}
