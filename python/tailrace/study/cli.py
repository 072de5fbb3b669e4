"""The command line of `tailrace study`."""

import sys
from pathlib import Path
from typing import Any

import click

from tailrace import extras
from tailrace.usage import PAGE, PATH, Commands, Duration


@click.group(
    cls=Commands,
    short_help="Run factorial experiments, and report what they found.",
)
def study() -> None:
    """Factorial experiments: plan one, run it, report what it found, list those that come with
    Tailrace."""


@study.command("run")
@click.argument("word", metavar="STUDY")
@click.option(
    "-o", "directory", type=PATH, help="Directory for all results [default: study-NAME-SIZE]."
)
@click.option(
    "--size", metavar="NAME", help="One of the study's sizes [default: its default_size, or small]."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Random seed for the run order [default: chosen and recorded].",
)
@click.option(
    "--budget",
    "budget_s",
    type=Duration(),
    metavar="TIME",
    help="Start no run that would exceed this time: 90s, 30m, 2h.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key of the study file: --set repetitions=5.",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME=DIR",
    help="Directory of one of the study's targets on this machine.",
)
@click.option("--keep", is_flag=True, help="Keep the files that the runs wrote.")
@click.option(
    "--redo",
    multiple=True,
    type=click.IntRange(min=0),
    metavar="RUN",
    help="Make this run again, and leave its first result out.",
)
@click.option(
    "--report/--no-report",
    default=True,
    show_default=True,
    help="Report what was found when all runs are finished.",
)
def run(word: str, **options: Any) -> None:
    """Run or resume STUDY; finished runs are not repeated.

    STUDY is a name (`tailrace study list`), the path of a .toml file of your own
    (docs/reference/studies.md), or the directory of a study that was started before.

    \b
    tailrace study run cmaq
    tailrace study run my-study.toml -o /scratch/me/results --budget 2h
    """
    extras.need("study", "studies")
    from tailrace.study.command import StudyOptions
    from tailrace.study.command import run as run_study

    sys.exit(run_study(word, StudyOptions(**options)))


@study.command("block", hidden=True)
@click.argument("directory", type=PATH)
@click.argument("number", type=click.IntRange(min=0))
@click.option("--target", "targets", multiple=True)
@click.option("--keep", is_flag=True)
def block(directory: Path, number: int, **options: Any) -> None:
    """Make the missing runs of one block, as a batch job of a study with [slurm] does."""
    from tailrace.study.command import StudyOptions, run_block

    sys.exit(run_block(directory, number, StudyOptions(**options)))


@study.command("report")
@click.argument("directories", nargs=-1, required=True, type=PATH, metavar="DIR [DIR2]")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON (docs/schema/study-report.json).",
)
@click.option("-o", "page", type=PAGE, help="Write a self-contained HTML page.")
def report(directories: tuple[Path, ...], as_json: bool, page: Path | None) -> None:
    """Report what the study in DIR found; with DIR2, compare the two."""
    extras.need("study", "studies")
    from tailrace.study.command import report as report_studies

    report_studies(directories, as_json, page)


@study.command("plan")
@click.argument("word", metavar="STUDY")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[TARGET=]MODEL",
    help="What a target is: a file of `tailrace calibrate`, or a name such as lustre.",
)
@click.option("--size", metavar="NAME", help="As in `study run`.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="As in `study run`.")
@click.option(
    "--question",
    type=click.Choice(["best", "claims", "both"]),
    default="both",
    show_default=True,
    help="Which choice is the best in each place, or what is expected.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON (docs/schema/study-to-measure.json)."
)
def plan(word: str, models: tuple[str, ...], **options: Any) -> None:
    """Select the combinations of STUDY that are worth measuring.

    They decide its answer at least cost: what cannot be the best by the models' predictions need
    not be measured.

    \b
    tailrace study plan my-study.toml --model scratch=lustre
    """
    extras.need("study", "studies")
    from tailrace.study.planning.show import PlanOptions, main

    main(word, PlanOptions(models=models, **options))


@study.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/schema/study-list.json).")
def list_studies(as_json: bool) -> None:
    """List the studies that come with Tailrace."""
    from tailrace.study.command import show_list

    sys.exit(show_list(as_json))
