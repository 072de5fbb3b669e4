"""`tailrace study report`: one study, or two beside each other, for people, as JSON, as a page."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.report import write_whole
from tailrace.study.measured import Measured

if TYPE_CHECKING:
    from tailrace.study.library import Study


def main(directories: list[Path], as_json: bool, page: Path | None) -> None:
    """`directories`: one or two of `tailrace study run`. Raises TailraceError where they are none."""
    if len(directories) > 2:
        raise TailraceError(f"{len(directories)} studies cannot be compared", "give one directory, or two")
    studies = [read(directory, name) for directory, name in zip(directories, told_apart(directories), strict=True)]
    if len(studies) == 1:
        _one(studies[0], as_json, page)
    else:
        _two(studies[0], studies[1], as_json, page)
    if page is not None:
        click.echo(f"page: {printable(str(page))}", err=True)


def told_apart(directories: list[Path]) -> list[str]:
    """The ends of the paths, as long as they must be to differ."""
    every = [directory.absolute().parts for directory in directories]
    names = [parts[-1] for parts in every]
    for length in range(2, max(map(len, every)) + 1):
        if len(set(names)) == len(names):
            break
        names = ["/".join(parts[-length:]) for parts in every]
    return names


def read(directory: Path, name: str = "") -> Measured:
    """The study in a directory, finished or not. `name`: what it is called, if not as the directory."""
    from tailrace.study.library import open_study

    return measured(open_study(directory), name)


def measured(study: "Study", name: str = "") -> Measured:
    """What a report is made of, from the study as the library opens it."""
    plan = study.plan | {"directory": name or study.directory.name}
    return Measured(plan, study.runs, study.environment)


def _one(study: Measured, as_json: bool, page: Path | None) -> None:
    from tailrace.study import report_page, report_text
    from tailrace.study.summary import Summary

    summary = Summary(study)
    if page is not None:
        write_whole(page, report_page.render(summary))
    if as_json:
        _print_json(summary.as_json())
    else:
        report_text.print_study(summary)


def _two(first: Measured, second: Measured, as_json: bool, page: Path | None) -> None:
    from tailrace.study import comparison, comparison_report

    found = comparison.compare(first, second)
    if page is not None:
        write_whole(page, comparison_report.render(found))
    if as_json:
        _print_json(comparison.as_json(found))
    else:
        comparison_report.print_comparison(found)


def _print_json(answer: object) -> None:
    click.echo(json.dumps(answer, ensure_ascii=False, allow_nan=False, indent=1))
