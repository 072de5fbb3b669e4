"""A study from its file to its report, as a user makes them: one command each."""

from __future__ import annotations

import json
import shutil
from html import escape
from pathlib import Path

import jsonschema
import matplotlib.pyplot as plt
import pytest

import tailrace
from tailrace.errors import TailraceError
from tailrace.study.command import distinct_names

from .chromium import open_page
from .study_files import study, write

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "schema"
# A program that takes 20 ms and 30 ms more for each message that goes through the slow door, and
# says how much it sent.
STUDY = """\
schema = 1
name = "mine"
description = "Messages through two doors."
response = "said_s"
repetitions = 3
[run]
command = ["python3", "-c", '''
import sys, time
door, messages = sys.argv[1], int(sys.argv[2])
wait_s = 0.02 + 0.03 * messages * (door == "slow")
time.sleep(wait_s)
print(f"said {{wait_s * (1 + 0.01 * (time.time_ns() % 7)):.6f}} s")
''', "{door}", "{messages}"]
launcher = "none"
output_pattern = "said (?P<said_s>[0-9.]+) s"
[responses.said_s]
better = "less"
[factor.door]
levels = ["quick", "slow"]
[factor.messages]
levels = [1, 2, 4]
[[expect]]
claim = "The slow door is at least twice as slow."
faster = { factor = "door", level = "quick", than = "slow", by = 2.0 }
[[expect]]
claim = "Through the quick door the number of messages does not matter."
where = { door = "quick" }
does_not_matter = { factor = "messages", within = 0.2 }
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("verbs")
    result = study("run", write(folder, STUDY), "-o", folder / "out", "--seed", "7")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[0].endswith("Both expectations held.")
    return folder / "out"


def test_running_a_study_leaves_its_page(directory):
    assert open_page(directory / "report.html").errors == []


def test_the_report_answers_in_json_as_its_schema_says(directory):
    answer = json.loads(study("report", directory, "--json").stdout)
    jsonschema.validate(answer, json.loads((SCHEMAS / "study-report.json").read_text("utf-8")))
    assert [expectation["answer"] for expectation in answer["expect"]] == ["held", "held"]
    others = dict.fromkeys(("failed", "timeout", "wrong", "simulated", "unavailable"), 0)
    assert answer["runs"] == {"all": 18, "done": 18} | others
    (door,) = [
        effect for effect in answer["responses"][0]["effects"] if effect["factors"] == ["door"]
    ]
    assert door["matters"] and door["high"] == {"door": "slow"}
    assert answer["environment"]["cores"] >= 1


def test_two_studies_are_compared(directory, tmp_path):
    result = study("report", directory, directory, "-o", tmp_path / "two.html")
    assert (
        result.exit_code == 0 and "is the same in both within 5 %" in result.stdout.splitlines()[0]
    )
    assert "0 of 6 combinations changed for certain" in result.stdout.splitlines()[0]
    answer = json.loads(study("report", directory, directory, "--json").stdout)
    jsonschema.validate(answer, json.loads((SCHEMAS / "study-comparison.json").read_text("utf-8")))


def test_studies_whose_directories_have_one_name_are_told_apart(directory, tmp_path):
    for folder in ("before", "after"):
        shutil.copytree(directory, tmp_path / folder / "out")
    answer = study("report", tmp_path / "before" / "out", tmp_path / "after" / "out").stdout
    assert "first: before/out, second: after/out" in answer


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/data/one", "/data/two"], ["one", "two"]),
        (["/a/out", "/b/out"], ["a/out", "b/out"]),
        (["/out", "/a/b/out"], ["/out", "/a/b/out"]),
        (["/out", "/out"], ["/out", "/out"]),
        (["/", "/out"], ["/", "/out"]),
    ],
)
def test_the_names_of_two_studies_are_as_short_as_they_can_be(paths, names):
    assert distinct_names([Path(path) for path in paths]) == names


def test_in_python_it_is_the_same(directory):
    found = tailrace.open_study(directory).report
    assert found.headline == study("report", directory).stdout.splitlines()[0]
    assert [answer.answer for answer in found.answers] == ["held", "held"]


def test_a_notebook_shows_the_answer_and_its_chart(directory):
    found = tailrace.open_study(directory)
    shown = found._repr_html_()
    assert escape(found.headline) in shown and shown.count("<svg") >= 1
    assert "http" not in shown.replace("http://www.w3.org", "") and len(shown) < 60_000
    assert "<script" not in shown


def test_a_response_is_plotted_with_every_combination(directory):
    found = tailrace.open_study(directory)
    drawn = found.plot()
    shown = [axes for axes in drawn.axes if axes.get_visible()]
    values = sorted(y for axes in shown for bar in axes.containers for y in bar[0].get_ydata())
    typical = found.report.as_json()["responses"][0]["combinations"]
    assert values == pytest.approx(sorted(point["value"] for point in typical))
    assert "said" in drawn.get_supylabel()
    plt.close(drawn)


@pytest.mark.parametrize("column", ["nothing", "reason"])
def test_only_numbers_are_plotted(directory, column):
    with pytest.raises(TailraceError, match="has no numbers named"):
        tailrace.open_study(directory).plot(column)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["nowhere"], "nowhere"), (["a", "b", "c"], "3 studies cannot be compared")],
)
def test_wrong_use_is_told_in_a_sentence(words, sentence):
    result = study("report", *words)
    assert result.exit_code == 2
    assert sentence in result.stderr and "Traceback" not in result.stderr


def test_a_page_that_cannot_be_written_is_told(directory):
    result = study("report", directory, "-o", "/proc/none/page.html")
    assert result.exit_code == 2 and "cannot be written" in result.stderr
