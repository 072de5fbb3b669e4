"""`tailrace report`: reads the traces, then prints for people, prints JSON, or writes the page."""

from pathlib import Path
from typing import Any

import click

from tailrace.engine import ReplayOptions, analyze
from tailrace.errors import TailraceError
from tailrace.labels import labels_of
from tailrace.names import printable
from tailrace.output import print_json, write_whole
from tailrace.store import opened_trace
from tailrace.terminal import console
from tailrace.units import count
from tailrace.verdict.as_json import report, reports
from tailrace.verdict.scaling import scaling_table


def main(
    traces: list[Path],
    as_json: bool,
    page: Path | None,
    replay: ReplayOptions,
    reference: int | None,
    scaling: str,
    labels: list[str] | None = None,
    target: Path | None = None,
) -> None:
    """`target`: a model of the file system that the runs used."""
    names, columns, documents = [], [], []
    for path in traces:
        if page is not None and page.exists() and path.is_file() and page.samefile(path):
            raise TailraceError(
                f"{printable(str(page))} is the trace, which a page would replace",
                "choose another name with -o",
            )
        with opened_trace(path) as trace:
            names.append(str(trace))
            columns.append(analyze(trace, **replay))
            documents.append(_explained(trace, columns[-1], target, replay))
    scaled = scaling_table(columns, reference, scaling) if len(columns) > 1 else None
    called = labels_of(columns, names, labels)
    if page is not None:
        about = {"labels": called, "reference_ranks": reference, "kind": scaling}
        write_page(page, columns, names, documents, **about)
        if str(page) == "-":
            return
    if as_json:
        print_json(documents[0] if scaled is None else reports(documents, names, called, scaled))
    else:
        _print(columns, documents, names, called, scaled)
    if page is not None:
        click.echo(f"page: {printable(str(page))}", err=True)


def _explained(
    trace: Path, columns: dict[str, Any], target: Path | None, replay: ReplayOptions
) -> dict[str, Any]:
    document = report(columns)
    if target is None:
        return document
    from tailrace.predict.model import named
    from tailrace.report.by_method import with_methods

    return with_methods(document, trace, columns, named(target), replay)


def _print(
    columns: list[dict[str, Any]],
    documents: list[dict[str, Any]],
    names: list[str],
    labels: list[str],
    scaling: dict[str, Any] | None,
) -> None:
    from tailrace.report.text import print_report, print_scaling, print_verdict, trace_name

    if scaling is None:
        print_report(documents[0], trace_name(names[0]))
        return
    from tailrace.verdict.several import headline_of_several, programs_of

    out = console()
    order = scaling["trace_index"]
    ordered = [columns[i] for i in order], [labels[i] for i in order]
    out.print(headline_of_several(*ordered, scaling), style="bold", soft_wrap=True)
    out.print()
    for document, name, label in zip(documents, names, labels, strict=True):
        ranks = count(document["ranks"], "rank")
        about = label if label == ranks else f"{label}, {ranks}"
        out.print(f"{trace_name(name)} ({about}):", soft_wrap=True)
        print_verdict(document, out)
        out.print()
    if len(programs_of(columns)) < 2:
        print_scaling(scaling, ordered[1], out)


def write_page(
    path: Path,
    columns: list[dict[str, Any]],
    names: list[str],
    documents: list[dict[str, Any]] | None = None,
    **options: Any,
) -> None:
    """Writes the page; it appears under its name only when it is whole."""
    from tailrace.page import render

    write_whole(path, render(columns, names, documents=documents, **options))
