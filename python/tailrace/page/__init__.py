"""The report as one HTML page that opens without a network: template, styles and scripts of this folder put together.

Names from the trace reach the page through Jinja's escaping, or through JSON whose `<`, `>` and `&` are spelled as
escapes; scripts show them as text only. The content security policy admits this page's own script, by its hash, and
nothing else, so that a name which slipped through could still run nothing.
"""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import jinja2

from tailrace import explanations, units
from tailrace.names import base_name, elided
from tailrace.page.charts import line_chart
from tailrace.page.data import timeline_data
from tailrace.report_json import report
from tailrace.scaling import scaling_table
from tailrace.text_report import SCALABILITY_NAMES, scaling_words

SCRIPTS = ("decode.js", "view.js", "timeline.js", "lanes.js", "pointer.js", "tables.js", "main.js")
# Together with the tables this keeps a page of any number of traces within 3 MB.
BINS = 4096
LONGEST = 20_000
ROWS_SHOWN = 200


def render(traces: list[dict[str, Any]], names: list[str], **scaling_options: Any) -> str:
    """The page of one trace, or of several with their scaling table; `traces` are what the engine yielded."""
    count = len(traces)
    order = sorted(range(count), key=lambda i: -int(traces[i]["ranks"]))
    runs = [_run(traces[i], names[i], BINS // count, LONGEST // count) for i in order]
    scaling = scaling_table(traces, **scaling_options) if count > 1 else None
    script = _script()
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            runs=runs,
            scaling=scaling,
            scaling_words=scaling and scaling_words(scaling),
            curves=scaling and _curves(scaling),
            scalability_names=SCALABILITY_NAMES,
            style=_read("style.css"),
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            explanations=explanations,
            rows_shown=ROWS_SHOWN,
        )
    )


def _run(columns: dict[str, Any], name: str, bins: int, longest: int) -> dict[str, Any]:
    meta = columns["meta"]
    return {
        "name": base_name(name),
        "report": report(columns),
        "program": elided(base_name(meta.get("program") or meta.get("exe") or name), 60),
        "data": safe_json(timeline_data(columns, bins, longest)),
        "functions": _functions(columns["functions"]),
    }


def _functions(table: dict[str, Any]) -> list[dict[str, Any]]:
    keys = ("name", "layer", "calls", "time_ns", "bytes")
    rows = [dict(zip(keys, row, strict=True)) for row in zip(*(table[key] for key in keys), strict=True)]
    return sorted(rows, key=lambda row: -int(row["time_ns"]))


def _script() -> str:
    parts = "\n".join(_read(name) for name in SCRIPTS)
    return f'(function () {{\n"use strict";\n{parts}\n}})();\n'


def _read(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")


def safe_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tailrace", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "seconds": units.seconds,
        "percent": units.percent,
        "bytes": units.byte_count,
        "nanoseconds": units.nanoseconds,
        "count": units.count,
        "elided": elided,
        "grade": explanations.grade,
    }
    return environment


def _curves(scaling: dict[str, Any]) -> list[str]:
    """Speedup with its ideal, and the efficiencies, over the number of ranks."""
    rows = scaling["rows"]
    ranks = [row["ranks"] for row in rows]
    reference = scaling["reference_ranks"]
    speedup = {"measured": [row["speedup"] for row in rows], "ideal": [rank / reference for rank in ranks]}
    shown = ("parallel", "load_balance", "serialization", "io_balance", "io_transfer", "transfer")
    names = {factor.key: factor.name for factor in explanations.TAILRACE_FACTORS}
    factors = {names[key]: [row["efficiency"][key] for row in rows] for key in shown}
    factors["Computation scalability"] = [row["scalability"]["computation"] for row in rows]
    return [line_chart("Speedup", ranks, speedup), line_chart("Efficiencies", ranks, factors, percent=True)]
