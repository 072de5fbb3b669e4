"""A study's runs as a plain table: one row per combination, median and extremes of the response."""

from rich.console import Console
from rich.text import Text

from tailrace.names import printable
from tailrace.study.library import Study
from tailrace.study.placeholders import as_text
from tailrace.study.results import DONE
from tailrace.text_report import console, table
from tailrace.units import count, digits


def print_table(study: Study, out: Console | None = None) -> None:
    """On stdout."""
    out = out or console()
    runs, factors = study.runs, list(study.factors)
    failed = int((runs["status"] != DONE).sum())
    headline = f"{study.name}: {count(len(runs), 'run')} of {count(len(study.plan['cells']), 'combination')}"
    out.print(
        Text(printable(headline) + (f", {failed} not successful" if failed else ""), style="bold"), soft_wrap=True
    )
    rows = table("", *factors, ">runs", f">{study.response}: median", ">least", ">most", ">not successful")
    for cell in study.plan["cells"]:
        rows.add_row(*_row(study, cell["levels"]))
    out.print(rows)
    for _, run in runs[runs["status"] != DONE].head(10).iterrows():
        levels = ", ".join(f"{name} {as_text(run[name])}" for name in factors)
        out.print(
            f"run {run['run']} ({printable(levels)}): {run['status']}: {printable(run['reason'])}", soft_wrap=True
        )


def _row(study: Study, levels: dict[str, object]) -> list[str]:
    runs = study.runs
    for name, level in levels.items():
        runs = runs[runs[name] == level]
    values = runs.loc[runs["status"] == DONE, study.response].dropna()
    numbers = [digits(value) for value in (values.median(), values.min(), values.max())] if len(values) else ["–"] * 3
    return [
        *(printable(as_text(level)) for level in levels.values()),
        str(len(values)),
        *numbers,
        str(len(runs) - int((runs["status"] == DONE).sum()) or ""),
    ]
