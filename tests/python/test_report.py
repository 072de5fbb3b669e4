"""`tailrace report`: the terminal, JSON that keeps its schema, the page, and errors in one
sentence."""

from __future__ import annotations

import io
import json

import jsonschema
import pytest
from click.testing import CliRunner
from referencing import Registry, Resource
from rich.console import Console

from tailrace.cli import cli
from tailrace.report.text import verdict

from ..conftest import ROOT
from .columns import SECOND, Program, useful, write
from .conftest import serial_master

SCHEMAS = ROOT / "docs" / "schema"


def run(*arguments: object):
    return CliRunner().invoke(cli, ["report", *map(str, arguments)])


def check_schema(value: object, name: str) -> None:
    """Against docs/schema/NAME.json, in which a reference names a file beside it."""
    contents = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    registry = Registry().with_resources(
        (key, Resource.from_contents(text)) for key, text in contents.items()
    )
    jsonschema.Draft202012Validator(contents[name], registry=registry).validate(value)


def test_the_first_line_is_the_verdict(arithmetic, master):
    result = run(arithmetic("a.tailrace", master))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == (
        "I/O takes 42.9 % of this run: rank 0 writes history.nc alone while 3 ranks wait."
    )


def test_a_finding_longer_than_a_line_goes_on_under_its_own_words(arithmetic, master):
    lines = run(arithmetic("a.tailrace", master)).stdout.splitlines()
    at = lines.index("Findings") + 1
    findings = lines[at : lines.index("", at)]
    assert any(line.startswith(" 32.1 %  rank 0 writes") for line in findings)
    document = {"verdict": [{"share_of_runtime": 0.5, "finding": "word " * 40}]}
    document["verdict"][0] |= {"evidence": "", "place": "", "gain": "", "advice": ""}
    out = Console(width=60, file=io.StringIO())
    out.print(verdict(document))
    heading, first, *more = out.file.getvalue().splitlines()
    assert heading == "Findings"
    assert first.startswith(" 50.0 %  word") and len(more) > 2
    assert all(line.startswith(" " * 9 + "word") for line in more)


def test_the_terminal_shows_both_views(arithmetic, master):
    lines = [line.split() for line in run(arithmetic("a.tailrace", master)).stdout.splitlines()]
    values = {
        " ".join(words[:3]): words[3:5]
        for words in lines
        if len(words) > 4 and "efficiency" in words
    }
    assert values["I/O balance efficiency"] == ["67.9", "%"]
    assert ["Serialization", "efficiency", "57.1", "%"] in [words[:4] for words in lines]  # POP's
    assert ["Serialization", "efficiency", "100", "%"] in [words[:4] for words in lines]  # ours


def test_json_keeps_its_contract(arithmetic, master):
    result = run(arithmetic("a.tailrace", master), "--json")
    answer = json.loads(result.stdout)
    check_schema(answer, "report.json")
    assert answer["runtime_s"] == 17.5
    assert answer["efficiency"]["io_balance"] == pytest.approx(11.875 / 17.5)
    assert answer["files"][0]["path"] == "/run/history.nc"
    assert answer["files"][0]["bytes_written"] == 2 * 10**9
    assert answer["verdict"][0]["share_of_runtime"] == pytest.approx(5.625 / 17.5)
    parts = answer["useful_s"]["mean"] + sum(answer["losses_s"].values())
    assert parts == pytest.approx(answer["runtime_s"], abs=1e-12)


def test_the_schema_refuses_what_lacks_a_key(arithmetic, master):
    answer = json.loads(run(arithmetic("a.tailrace", master), "--json").stdout)
    del answer["pop"]["communication"]
    with pytest.raises(jsonschema.ValidationError, match="communication"):
        check_schema(answer, "report.json")


def test_several_traces_give_the_scaling_table(arithmetic):
    paths = [arithmetic(f"run-{p}.tailrace", serial_master(p, SECOND * 4 // p)) for p in (4, 1, 2)]
    answer = json.loads(run(*paths, "--json").stdout)
    check_schema(answer, "reports.json")
    assert [row["ranks"] for row in answer["scaling"]["rows"]] == [1, 2, 4]
    assert answer["runs"][answer["scaling"]["trace_index"][0]]["ranks"] == 1
    text = run(*paths).stdout
    assert "Strong scaling" in text and "the reference is the run on 1 rank" in text
    assert "Hardware counters were not available" in text


def test_runs_of_equally_many_ranks_are_told_apart(arithmetic):
    paths = []
    for method, write_s in (("serial", 1), ("collective", 0.5)):
        program = serial_master(4, write_ns=int(write_s * SECOND))
        program.meta = {"command": f"mpiexec -n 4 model --method {method}"}
        paths.append(arithmetic(f"{method}.tailrace", program))
    lines = run(*paths).stdout.splitlines()
    assert lines[0].startswith("collective takes 15.0 s, 25.0 % less than serial (20.0 s)")
    assert "serial.tailrace (serial, 4 ranks):" in lines
    assert any(line.split() == ["serial", "collective"] for line in lines)


def test_an_unknown_reference_is_one_sentence(arithmetic):
    paths = [arithmetic(f"run-{p}.tailrace", serial_master(p)) for p in (1, 2)]
    result = run(*paths, "--reference", 3)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "tailrace: no trace with 3 ranks can be the reference\n\nhint: choose one of 1, "
        "2 with --reference\n"
    )


def test_foreign_names_are_harmless_in_terminal_and_json(arithmetic):
    evil = b"/run/\x1b]0;title\x07\xff\r\n" + b"y" * 4000 + b"/[red]tail.nc"
    row = [useful(SECOND), write(SECOND, evil, 10**6, 10)]
    program = Program([row], 2 * SECOND, 2 * SECOND, SECOND, meta={"program": "m\x1b[2J"})
    text = run(arithmetic("a.tailrace", program)).stdout
    assert all(character.isprintable() for line in text.splitlines() for character in line)
    assert "[red]" in text  # shown, not taken as a colour
    path = json.loads(run(arithmetic("a.tailrace", program), "--json").stdout)["files"][0]["path"]
    assert path == "/run/\\x1b]0;title\\x07\\xff\\x0d\\x0a" + "y" * 4000 + "/[red]tail.nc"


def test_the_page_is_written_beside_the_text(arithmetic, master, tmp_path):
    page = tmp_path / "page.html"
    result = run(arithmetic("a.tailrace", master), "-o", page)
    assert result.exit_code == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert page.stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_page_that_cannot_be_written_is_one_sentence(arithmetic, master, tmp_path):
    result = run(arithmetic("a.tailrace", master), "-o", tmp_path / "none" / "page.html")
    assert result.exit_code == 2
    assert "cannot be written: No such file or directory\n\nhint: " in result.stderr


@pytest.mark.parametrize("name", ["absent.tailrace", "absent\x1b[31m.tailrace"])
def test_a_missing_trace_is_one_sentence(name, tmp_path):
    result = run(tmp_path / name)
    assert result.exit_code == 2
    assert "there is no such file\n\nhint: " in result.stderr
    assert "\x1b" not in result.stderr and "Traceback" not in result.stderr


def test_what_the_engine_says_reaches_the_user(arithmetic, master, tmp_path):
    arithmetic("a.tailrace", master)
    other = tmp_path / "other.tailrace"
    other.write_bytes(b"nothing")
    result = run(other)
    assert (result.exit_code, result.stderr) == (
        2,
        f"tailrace: {other}: not a trace\n\nhint: give a .tailrace\n",
    )


def test_a_directory_stands_for_its_trace(arithmetic, master, tmp_path):
    arithmetic("a.tailrace", master)
    assert run(tmp_path).stdout.startswith("I/O takes")
    arithmetic("b.tailrace", master)
    assert "holds several traces: a.tailrace, b.tailrace" in run(tmp_path).stderr
