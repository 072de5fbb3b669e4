"""The command line of `tailrace study`."""

import sys
from pathlib import Path

import click

PATH = click.Path(path_type=Path)


@click.group()
def study() -> None:
    """Factorial experiments: run one, show what it found, list those that come with Tailrace."""


@study.command("run")
@click.argument("word", metavar="STUDY")
@click.option("-o", "directory", type=PATH, help="Where everything goes [default: study-NAME-SIZE].")
@click.option("--size", metavar="NAME", help="One of the study's sizes [default: its own, or small].")
@click.option("--seed", type=click.IntRange(min=0), help="Of the random order [default: a new one, recorded].")
@click.option("--budget", metavar="DURATION", help="Begin no run that would exceed it: 90s, 30m, 2h.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key: --set repetitions=5.")
@click.option("--target", "targets", multiple=True, metavar="NAME=DIR", help="Where a target of the study is here.")
@click.option("--keep", is_flag=True, help="Keep what the runs wrote.")
@click.option("--report/--no-report", default=True, show_default=True, help="Show what was found when all is done.")
def run(word: str, **options: object) -> None:
    """Run STUDY, or go on with it: what is stored already is not run again.

    STUDY is a name (`tailrace study list`), the path of a .toml file of your own (docs/studies.md), or the directory of
    a study that was begun.

    \b
    tailrace study run cmaq
    tailrace study run my-study.toml -o /scratch/me/results --budget 2h
    """
    from tailrace.study.command import Options
    from tailrace.study.command import run as run_study

    sys.exit(run_study(word, Options(**options)))


@study.command("block", hidden=True)
@click.argument("directory", type=PATH)
@click.argument("number", type=click.IntRange(min=0))
@click.option("--target", "targets", multiple=True)
@click.option("--keep", is_flag=True)
def block(directory: Path, number: int, **options: object) -> None:
    """What a batch job of a study with [slurm] does: the missing runs of one block."""
    from tailrace.study.command import Options, run_block

    sys.exit(run_block(directory, number, Options(**options)))


@study.command("report")
@click.argument("directories", nargs=-1, required=True, type=PATH, metavar="DIR [DIR2]")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/schema/study-report.json).")
@click.option("-o", "page", type=PATH, help="Write one self-contained HTML page.")
def report(directories: tuple[Path, ...], as_json: bool, page: Path | None) -> None:
    """Show what the study in DIR found; with DIR2, compare the two."""
    from tailrace.study.report import main

    main(list(directories), as_json, page)


@study.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON (docs/schema/study-list.json).")
def list_studies(as_json: bool) -> None:
    """The studies that come with Tailrace."""
    from tailrace.study.command import show_list

    sys.exit(show_list(as_json))
