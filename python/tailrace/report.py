"""`tailrace report`: reads the traces, then prints for people, prints JSON, or writes the page."""

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import click

from tailrace.engine import analyze
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.report_json import report, reports
from tailrace.store import find_trace
from tailrace.units import count


def main(
    traces: list[Path], as_json: bool, page: Path | None, reference: int | None, scaling: str, **options: Any
) -> None:
    """`options` go to the engine: eager_limit_bytes, collectives."""
    found = [find_trace(path) for path in traces]
    columns = [analyze(path, **options) for path in found]
    names = [str(path) for path in found]
    scaling_options = {"reference_ranks": reference, "kind": scaling}
    if page is not None:
        write_page(page, columns, names, **scaling_options)
    if as_json:
        answer = report(columns[0]) if len(columns) == 1 else reports(columns, names, **scaling_options)
        click.echo(json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=1))
    else:
        _print(columns, names, scaling_options)
    if page is not None:
        click.echo(f"page: {printable(str(page))}", err=True)


def _print(columns: list[dict[str, Any]], names: list[str], scaling_options: dict[str, Any]) -> None:
    from tailrace.scaling import scaling_table
    from tailrace.text_report import console, print_report, print_scaling, print_verdict, trace_name

    if len(columns) == 1:
        print_report(report(columns[0]), trace_name(names[0]))
        return
    scaling = scaling_table(columns, **scaling_options)
    out = console()
    for one, name in zip(columns, names, strict=True):
        out.print(f"{trace_name(name)} ({count(int(one['ranks']), 'rank')}):", soft_wrap=True)
        print_verdict(report(one), out)
        out.print()
    print_scaling(scaling, out)


def write_page(path: Path, columns: list[dict[str, Any]], names: list[str], **scaling_options: Any) -> None:
    """Writes the page; it appears under its name only when it is whole."""
    from tailrace.page import render

    write_whole(path, render(columns, names, **scaling_options))


def write_whole(path: Path, text: str) -> None:
    """Writes a file beside its final name, readable by its owner only, and renames it. Raises TailraceError."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise TailraceError(
            f"{printable(str(path))} cannot be written: {error.strerror}", "choose another place with -o"
        ) from None
