"""A hundred wrong uses of the command line: each is told in one sentence with a hint, and the exit
status says that it was wrong use; nothing is run, and there is never a traceback."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tailrace.cli import cli

WRONG_USE, NOT_EXECUTABLE, NOT_FOUND = 2, 126, 127

# The words of each command, and a part of the sentence that it gives. {long} is a name of 5,000
# characters. What the directory holds is written by `place`.
WRONG_USES = {
    # the command line itself
    "rnu": "tailrace has no command 'rnu'",
    "Report x": "tailrace has no command 'Report'",
    "reprot o": "tailrace has no command 'reprot'",
    "--nonsense": "there is no option --nonsense",
    "--json": "there is no option --json",
    "-x run": "there is no option -x",
    "help": "tailrace has no command 'help'",
    "trace.tailrace": "tailrace has no command 'trace.tailrace'",
    "doctor now": "got unexpected extra argument (now)",
    "doctor --jsn": "there is no option --jsn",
    # whatif and calibrate
    "whatif": "missing TRACE",
    "whatif nothing.tailrace": "nothing.tailrace",
    "whatif file --io-rate fast": "--io-rate: 'fast' is not a factor",
    "whatif file --network 0": "--network: '0' is not a factor",
    "whatif file --compute -2x": "--compute: '-2x' is not a factor",
    "whatif file other": "several traces say what other numbers of ranks give",
    "whatif file --ranks 0": "--ranks: 0 is less than 1",
    "whatif file --target lustre --method serial --piece 0": "--piece takes at least a byte",
    "whatif file --ranks 8 --overlap": "--ranks goes with no other change",
    "whatif file --all --overlap": "--all makes each change by itself",
    "whatif file --target nothing.toml": "nothing.toml cannot be read",
    "simulate": "missing WORKLOAD",
    "simulate roms": "missing --ranks",
    "simulate nothing --ranks 2 --target file": "nothing",
    "calibrate": "missing DIR",
    "calibrate nothing": "nothing cannot be measured",
    "calibrate file": "file cannot be measured",
    "calibrate . --budget long": "--budget: 'long' is not a duration",
    "calibrate . --ranks 1": "--ranks: 1 is less than 2",
    "calibrate . --mpiexec srun": "--mpiexec needs --ranks",
    "calibrate . --ranks 2 --mpiexec nosuch": "there is no nosuch",
    # run
    "run": "missing COMMAND",
    "run --": "missing COMMAND",
    "run --bogus -- true": "there is no option --bogus",
    "run --bogus": "there is no option --bogus",
    "run --outptu d true": "there is no option --outptu",
    "run -p ranks true": "there is no option -p",
    "run -n 4 ./script.sh": "there is no option -n",
    "run --processes some true": "--processes: 'some' is not one of",
    "run --processes": "option '--processes' requires an argument",
    "run -o": "option '-o' requires an argument",
    "run --collectives none true": "--collectives: 'none' is not one of",
    "run --eager-limit lots true": "--eager-limit: 'lots' is not a size",
    "run --eager-limit -1 true": "--eager-limit: '-1' is not a size",
    "run --eager-limit 1.5K true": "--eager-limit: '1.5K' is not a size",
    "run --eager-limit 64X true": "--eager-limit: '64X' is not a size",
    "run --counters=yes true": "option '--counters' does not take a value",
    "run --strict -o file/x true": "file/x cannot be made",
    "run --strict -o file true": "file cannot be made",
    "run -o '' true": "-o: the path is empty",
    "run --raw-dir '' true": "--raw-dir: the path is empty",
    "run --strict --raw-dir /proc true": "/proc/true cannot be made",
    "run --processes all --": "missing COMMAND",
    "run --strict -o {long} true": "cannot be made: File name too long",
    "run --strict --raw-dir file/x true": "cannot be made",
    # report
    "report": "missing TRACE",
    "report --json": "missing TRACE",
    "report nothing.tailrace": "nothing.tailrace: there is no such file",
    "report nothing/": "nothing: there is no such file",
    "report {long}": "File name too long",
    "report file/inside": "file/inside: Not a directory",
    "report empty": "there is no trace in empty",
    "report /": "there is no trace in /",
    "report study": "study holds a study, not a trace",
    "report several": "several holds several traces: a.tailrace, b.tailrace",
    "report fifo": "fifo is not a regular file",
    "report /dev/null": "/dev/null is not a regular file",
    "report file": "file",
    "report empty.tailrace": "empty.tailrace",
    "report cut.tailrace": "cut.tailrace",
    "report text.prv": "text.prv",
    "report text.prv.gz": "text.prv.gz",
    "report report.html": "report.html is a page, not a trace",
    "report run.otf2": "run.otf2 is an OTF2 archive, not a trace",
    "report job.darshan": "job.darshan is a log of Darshan, not a trace",
    "report run.pcf": "run.pcf is the names of a Paraver trace, not a trace",
    "report run.row": "run.row is the rows of a Paraver trace, not a trace",
    "report answer.json": "answer.json is a JSON document, not a trace",
    "report mine.toml": "mine.toml is a workload or a study, not a trace",
    "report host.1.2.stream": "is a raw stream of one process, not a trace",
    "report a.tailrace --bogus": "there is no option --bogus",
    "report a.tailrace --reference 0": "--reference: 0 is less than 1",
    "report a.tailrace --reference two": "--reference: 'two' is not a whole number",
    "report a.tailrace --reference 2": "--reference needs several traces to compare",
    "report a.tailrace --scaling weak": "--scaling needs several traces to compare",
    "report a.tailrace --scaling strong --reference 1": "needs several traces to compare",
    "report a.tailrace b.tailrace --scaling up": "--scaling: 'up' is not one of",
    "report a.tailrace --eager-limit 64Q": "--eager-limit: '64Q' is not a size",
    "report a.tailrace --eager-limit ''": "--eager-limit: '' is not a size",
    "report a.tailrace --collectives dimemas": "--collectives: 'dimemas' is not one of",
    "report a.tailrace --collectives": "option '--collectives' requires an argument",
    "report a.tailrace -o": "option '-o' requires an argument",
    "report empty a.tailrace": "there is no trace in empty",
    "report nothing a.tailrace": "nothing: there is no such file",
    "report ''": "TRACE: the path is empty",
    "report a.tailrace ''": "TRACE: the path is empty",
    "report a.tailrace -o ''": "-o: the path is empty",
    "report a.tailrace -o page.pdf": "page.pdf: a page is HTML, and no other format",
    "report a.tailrace -o answer.JSON": "answer.JSON: a page is HTML, and no other format",
    "report --reference -3 a.tailrace b.tailrace": "--reference: -3 is less than 1",
    # pack
    "pack": "missing RAWDIR",
    "pack empty": "empty: there are no raw streams",
    "pack nothing": "nothing: there are no raw streams",
    "pack file": "file: there are no raw streams",
    "pack a b": "got unexpected extra argument (b)",
    "pack ''": "RAWDIR: the path is empty",
    "pack raw -o ''": "-o: the path is empty",
    "pack a --json": "there is no option --json",
    "pack raw -o a.tailrace": "a.tailrace exists already",
    # bench
    "bench": "WORKLOAD",
    "bench nosuch": "there is no workload nosuch",
    "bench nosuch.toml": "nosuch.toml: there is no such file",
    "bench bad.toml": "bad.toml",
    "bench empty.toml": "empty.toml",
    "bench roms --ranks 0": "--ranks: 0 is less than 1",
    "bench roms --ranks four": "--ranks: 'four' is not a whole number",
    "bench roms --rank 4": "there is no option --rank",
    "bench roms --repeat 0": "--repeat: 0 is less than 1",
    "bench roms --time-limit -1": "--time-limit: ",
    "bench roms --size XXL": "size",
    "bench roms --set nosuch=1": "nosuch",
    "bench roms --set steps": "--set 'steps' is not of the form key=value",
    "bench roms --set steps=many": "steps",
    "bench roms --method fast": "fast",
    "bench roms --format xml": "xml",
    "bench roms --collectives all": "--collectives needs --capture",
    "bench roms --eager-limit 64K": "--eager-limit needs --capture",
    "bench roms --dir nothing": "there is no directory nothing",
    "bench roms --dir ''": "--dir: the path is empty",
    "bench roms --dir file": "file is not a directory",
    "bench roms --read-dir nothing": "there is no directory nothing",
    "bench roms --set": "option '--set' requires an argument",
    "bench roms --set steps=-1": "--set steps: should be greater than 0, not -1",
    "bench roms --hint a": "--hint 'a' is not of the form key=value",
    "bench roms --method serial --format pnetcdf": "serial cannot be combined with the format",
    "bench btio --ranks 100000000000": "btio runs on a square number of ranks",
    "bench --list roms": "--list takes no WORKLOAD",
    "bench --json": "missing WORKLOAD",
    "bench roms extra": "got unexpected extra argument (extra)",
    # study
    "study": None,
    "study rn": "tailrace study has no command 'rn'",
    "study run": "missing STUDY",
    "study run nosuch": "there is no study nosuch",
    "study run bad.toml": "bad.toml",
    "study run --size": "option '--size' requires an argument",
    "study run --seed -1 cmaq": "--seed: -1 is less than 0",
    "study run --seed x cmaq": "--seed: 'x' is not a whole number",
    "study run cmaq --budget 5x": "--budget: '5x' is not a duration",
    "study run cmaq --size huge": "huge",
    "study run cmaq --set repetitions": "repetitions",
    "study run cmaq --set nosuch=1": "nosuch",
    "study run cmaq --target nfs": "--target 'nfs' is not of the form NAME=DIRECTORY",
    "study run cmaq --target nfs=nothing": "cmaq has no such target",
    "study run cmaq --target a=. --target a=.": "--target names a twice",
    "study run cmaq -o ''": "-o: the path is empty",
    "study report": "missing DIR",
    "study report ''": "DIR: the path is empty",
    "study report a.tailrace": "a.tailrace",
    "study plot cmaq": "tailrace study has no command 'plot'",
    "study plan": "missing STUDY",
    "study plan cmaq": "there is no model of any target of cmaq",
    "study plan cmaq --model lustrous": "there is no model lustrous",
    "study plan cmaq --model here=lustre": "cmaq has no target here",
    "study plan cmaq --model lustre": "the format netcdf3 is not simulated",
    "study plan cgns-write --model lustre": "cgns-write is about output_s",
    "study plan cmaq --question why": "--question: 'why' is not one of",
    "study report empty": "empty: there is no study here",
    "study report nothing": "nothing: there is no study here",
    "study report study -o page.png": "page.png: a page is HTML, and no other format",
    "study report a b c": "3 studies cannot be compared",
    "study list x": "got unexpected extra argument (x)",
}
NOT_STARTED = {
    "run nosuchprogram": (NOT_FOUND, "nosuchprogram: command not found"),
    "run -- -rf": (NOT_FOUND, "-rf: command not found"),
    "run ''": (NOT_FOUND, "command not found"),
    "run ./nosuchprogram": (NOT_FOUND, "./nosuchprogram does not exist"),
    "run {long}": (NOT_FOUND, "command not found"),
    "run ./empty": (NOT_EXECUTABLE, "./empty is a directory"),
    "run ./file": (NOT_EXECUTABLE, "./file is not executable"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with everything that the wrong uses name; no MPI and no compiler is asked."""
    import os

    for folder in ("empty", "study", "several", "raw"):
        (tmp_path / folder).mkdir()
    for file in ("plan.json", "study.toml"):
        (tmp_path / "study" / file).touch()
    for file in ("a.tailrace", "b.tailrace"):
        (tmp_path / "several" / file).touch()
        (tmp_path / file).touch()
    for file in ("empty.tailrace", "empty.toml", "host.1.2.stream", "raw/host.1.2.stream"):
        (tmp_path / file).touch()
    for file in ("file", "report.html", "run.otf2", "job.darshan", "run.pcf", "run.row"):
        (tmp_path / file).write_text("something\n")
    for file in ("answer.json", "mine.toml", "bad.toml", "text.prv", "text.prv.gz"):
        (tmp_path / file).write_text("some = thing =\n")
    (tmp_path / "cut.tailrace").write_bytes(b"TAILRACE"[:5])
    (tmp_path / "script.sh").write_text("#!/bin/sh\ntouch started\n")
    (tmp_path / "script.sh").chmod(0o755)
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(words: str) -> tuple[int, str]:
    answer = CliRunner().invoke(
        cli, shlex.split(words.format(long="x" * 5000)), prog_name="tailrace"
    )
    assert answer.exception is None or isinstance(answer.exception, SystemExit), answer.exception
    assert answer.stdout == ""
    return answer.exit_code, answer.stderr


def check_form(text: str, part: str) -> None:
    """One sentence, a blank line, one hint; no capital unless a name begins it, no full stop."""
    sentence, blank, hint, *more = text.split("\n")
    assert sentence.startswith("tailrace: ") and part in sentence, text
    assert blank == "" and hint.startswith("hint: ") and more == [""], text
    for said in (sentence.removeprefix("tailrace: "), hint.removeprefix("hint: ")):
        assert said and not said.endswith("."), text
        assert not re.match(r"[A-Z][a-z]+ [a-z]", said.replace("Tailrace", "")), text
    assert len(sentence) < 400 and len(hint) < 400, text


def test_there_are_a_hundred():
    assert len(WRONG_USES) + len(NOT_STARTED) >= 100


@pytest.mark.parametrize("words", WRONG_USES, ids=lambda words: words[:40])
def test_wrong_use(place, words):
    status, text = told(words)
    assert status == WRONG_USE, text
    if (part := WRONG_USES[words]) is not None:
        check_form(text, part)
    else:
        assert text.startswith("Usage: ")
    assert not (place / "started").exists()


@pytest.mark.parametrize("words", NOT_STARTED, ids=lambda words: words[:40])
def test_a_program_that_cannot_be_started(place, monkeypatch, words):
    """It is found out before anything is compiled."""
    from tailrace.capture import libraries

    monkeypatch.setattr(libraries, "prepare", lambda *_: pytest.fail("compiled"))
    status, part = NOT_STARTED[words]
    answer = told(words)
    assert answer[0] == status
    check_form(answer[1], part)


@pytest.mark.parametrize("words", ["bench roms --set", "study run --size", "report -o"])
def test_an_option_without_its_value_points_to_its_own_help(place, words):
    verb = "study run" if words.startswith("study") else words.split()[0]
    assert f"`tailrace {verb} --help`" in told(words)[1]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("doctor --jsn", "did you mean --json?"),
        ("run --proceses all true", "did you mean --processes?"),
        # alike in their dashes and two letters only
        ("report --version", "`tailrace report --help` shows how it is used"),
    ],
)
def test_only_an_option_that_is_alike_is_offered(place, words, hint):
    assert told(words)[1].endswith(f"hint: {hint}\n")


def test_a_package_that_is_missing_is_named(place):
    """In a process of its own, as the package may be loaded in this one."""
    program = (
        "import sys; sys.modules['pydantic'] = None; from tailrace.cli import main;"
        "sys.argv = ['tailrace', 'simulate', 'roms', '--ranks', '2', '--target', 'lustre']; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == WRONG_USE
    check_form(done.stderr, "the Python package pydantic is not installed")
