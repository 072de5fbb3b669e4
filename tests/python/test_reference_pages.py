"""The reference is complete: every verb and option, every finding and warning is described."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from tailrace import cli
from tailrace.verdict.evidence import Kind

from ..conftest import ROOT

REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "command-line.md").read_text("utf-8")
STUDIES = (REFERENCE / "studies.md").read_text("utf-8")


def verbs(command: click.Command, name: str = "tailrace") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            yield from verbs(command.get_command(context, word), f"{name} {word}")
    else:
        yield name, command


def options(command: click.Command) -> list[set[str]]:
    """The words of each option: of one that is on or off, both."""
    found = (p for p in command.params if isinstance(p, click.Option) and not p.hidden)
    return [{*option.opts, *option.secondary_opts} for option in found]


def test_every_verb_and_option_is_described():
    described = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", PAGE + STUDIES))
    missing = [
        f"{name} {' '.join(sorted(words))}"
        for name, command in verbs(cli.cli)
        for words in options(command)
        if not words & (described | {"--help", "--version"})
    ]
    assert not missing, "\n".join(missing)


def test_no_option_is_described_that_does_not_exist():
    known = {word for _, command in verbs(cli.cli) for words in options(command) for word in words}
    tables = re.findall(r"^\| `([^|]*)\|", PAGE, re.MULTILINE)
    named = {word for row in tables for word in re.findall(r"(?<![\w-])--?[a-z][\w-]*", row)}
    assert named
    assert named <= known, named - known


@pytest.mark.parametrize("words", [[], ["study"]])
def test_what_a_verb_does_fits_in_the_line_of_its_group(words: list[str]) -> None:
    listed = CliRunner().invoke(cli.cli, [*words, "--help"], terminal_width=80).stdout
    _, heading, lines = listed.partition("Commands:")
    assert heading
    assert "..." not in lines


def test_every_finding_and_warning_is_described():
    findings = set(Kind)
    warnings = set(
        re.findall(
            r"code: \"([a-z-]+)\"",
            (ROOT / "crates/tailrace-replay/src/warnings.rs").read_text("utf-8"),
        )
    )
    assert len(warnings) > 5
    report = (REFERENCE / "report.md").read_text("utf-8")
    advice = (ROOT / "docs/how-to/findings.md").read_text("utf-8")
    assert {code for code in findings | warnings if f"`{code}`" not in report} == set()
    assert {code for code in findings if f"`{code}`" not in advice} == set()
