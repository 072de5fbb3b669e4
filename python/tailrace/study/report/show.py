"""Shows what a study found, or two beside each other: for people, as JSON, as a page."""

from pathlib import Path

from tailrace.output import print_json, write_whole
from tailrace.study.analysis import comparison
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary
from tailrace.study.report import comparison as comparison_report
from tailrace.study.report import page as report_page
from tailrace.study.report import text as report_text


def show(study: Measured, as_json: bool, page: Path | None) -> None:
    summary = Summary(study)
    if page is not None:
        write_whole(page, report_page.render(summary))
    if as_json:
        print_json(summary.as_json())
    else:
        report_text.print_study(summary)


def show_comparison(first: Measured, second: Measured, as_json: bool, page: Path | None) -> None:
    found = comparison.compare(first, second)
    if page is not None:
        write_whole(page, comparison_report.render(found))
    if as_json:
        print_json(comparison.as_json(found))
    else:
        comparison_report.print_comparison(found)
