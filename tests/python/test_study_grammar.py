"""Reports speak of what users named in the plural, and of levels that carry a name, as a native
speaker would."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tailrace.study.analysis.grammar import agreeing, is_plural
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary

from .simulated_curves import RANKS
from .study_data import study

Time = Callable[[Mapping[str, Any]], float]
# What no sentence may say of requests or buffers.
SINGULAR = re.compile(
    r"\b(?:requests|buffers) (?:is|was|has|does|rises|falls|goes|changes|matters|a)\b"
    r"|a (?:lower|higher) requests|and (?:is|it) |where it |whether it |ranks it ",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    ("noun", "plural"),
    [
        ("requests", True),
        ("Cache misses", True),
        ("bytes written", True),
        ("messages of all ranks", True),
        ("time in writes", False),
        ("time in reads and writes (all ranks)", False),
        ("speed", False),
        ("Mop/s", False),
        ("gflops", False),
        ("loss", False),
        ("status", False),
        ("bias", False),
    ],
)
def test_what_is_a_plural(noun: str, plural: bool) -> None:
    assert is_plural(noun) is plural


def test_verbs_agree() -> None:
    asked = ("rises", "is", "has", "goes", "does", "matters")
    assert [agreeing(verb, True) for verb in asked] == ["rise", "are", "have", "go", "do", "matter"]
    assert [agreeing(verb, False) for verb in asked] == list(asked)


def counted(
    levels: Mapping[str, list[Any]], time_s: Time, better: str | None = "less", **options: Any
) -> Summary:
    """Of a study of requests."""
    made = study(
        levels,
        time_s,
        others={"requests": lambda where, elapsed: elapsed},
        response="requests",
        **options,
    )
    given = {"requests": {"better": better} if better else {}}
    plan = {**made.plan, "study": {**made.plan["study"], "responses": given}}
    return Summary(Measured(plan, made.runs))


def texts(summary: Summary) -> list[str]:
    findings = [f"{one.text} | {one.evidence}" for one in summary.found.findings]
    return [summary.headline, *findings, *(answer.evidence for answer in summary.answers)]


EXPECTED = [
    {"claim": "?", "falls_until": {"factor": "ranks", "level": 8}},
    {"claim": "?", "rises_beyond": {"factor": "ranks", "level": 2}},
    {"claim": "?", "scales": {"factor": "ranks", "exponent_at_most": 0.5}},
]
CURVES: dict[str, tuple[float, ...]] = {
    "falls": (32, 16, 8, 4, 2, 1),
    "settles": (20, 10, 5, 5, 5, 5),
    "turns": (10, 7, 5, 5, 7, 10),
    "rises": (5, 6, 7, 8, 9, 10),
    "rises from a plateau": (5, 5, 5, 7, 9, 9),
    "saw": (10, 8, 9.5, 6, 8, 5),
    "peak": (5, 7, 10, 10, 7, 5),
    "flat": (5, 5, 5, 5, 5, 5),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("scatter", [0.005, 0.08])
def test_requests_rise(name: str, scatter: float) -> None:
    levels = {"ranks": RANKS}
    found = texts(
        counted(
            levels,
            lambda w: CURVES[name][RANKS.index(w["ranks"])],
            expect=EXPECTED,
            scatter=scatter,
        )
    )
    assert not [text for text in found if SINGULAR.search(text)], found


@pytest.mark.parametrize("times", [1.0, 1.5])
@pytest.mark.parametrize("scatter", [0.005, 0.2])
def test_buffers_matter(times: float, scatter: float) -> None:
    levels = {"buffers": ["few", "many"], "tool": ["x", "y"]}

    def time_s(where: Mapping[str, Any]) -> float:
        return 10.0 * (times if where == {"buffers": "many", "tool": "y"} else 1.0)

    found = texts(counted(levels, time_s, scatter=scatter))
    assert not [text for text in found if SINGULAR.search(text)], found
    if times == 1.0 and scatter < 0.1:
        assert any("buffers do not matter to requests" in text for text in found)


def test_neither_is_the_better_one_where_nobody_said_which_is() -> None:
    found = texts(
        counted(
            {"ranks": RANKS, "tool": ["x", "y"]},
            lambda w: 10.0 * (w["ranks"] / 6) ** (0.4 if w["tool"] == "x" else 0.0),
            better=None,
        )
    )
    (told,) = [text for text in found[1:] if "interpolated" in text]
    assert told.startswith("tool x has lower requests than y below")
    assert ", and higher ones above" in told


def test_a_span_names_what_it_is_of_once() -> None:
    chunks = [1, 4, 16, 64]
    expect = [{"claim": "?", "falls_until": {"factor": "chunk", "level": 64}}]
    (answer,) = counted({"chunk": chunks}, lambda w: 10.0, expect=expect).answers
    assert answer.evidence.startswith("from chunk 1 to 64, requests change by")


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ((0.4, 0, 0, 0, 0, 0), "tool x beats y at 1 rank; from 2 ranks on they cannot be told"),
        ((0, 0, 0, 0, 0, 0.4), "tool x beats y at 32 ranks; until 16 ranks they cannot be told"),
    ],
)
def test_a_lead_at_one_level_is_at_that_level(gains: tuple[float, ...], said: str) -> None:
    found = texts(
        counted(
            {"ranks": RANKS, "tool": ["x", "y"]},
            lambda w: 10.0 * (1 - gains[RANKS.index(w["ranks"])] * (w["tool"] == "x")),
            scatter=0.02,
        )
    )
    assert any(text.startswith(said) for text in found), found


def test_runs_that_lie_far_off_are_listed_as_several() -> None:
    made = study({"tool": ["x", "y"]}, lambda w: 10.0, blocks=8, scatter=0.01)
    runs = made.runs.copy()
    runs.loc[[2, 9], "elapsed_s"] *= 3
    for some, said in ((runs, "(runs 2 and 9); the farthest has"), (runs.drop(9), "(run 2); it")):
        found = Summary(Measured(made.plan, some.reset_index(drop=True))).cautions
        (caution,) = [one for one in found if one.kind == "outliers"]
        assert said in caution.text or "(runs 9 and 2); the farthest has" in caution.text


def test_what_is_no_time_is_not_fast() -> None:
    faster = {"factor": "tool", "level": "x", "than": "y"}
    levels = {"tool": ["x", "y"]}
    summary = counted(
        levels,
        lambda w: 20.0 if w["tool"] == "y" else 10.0,
        expect=[{"claim": "?", "faster": faster}],
        scatter=0.01,
    )
    (answer,) = summary.answers
    assert str(answer.answer) == "held"
    assert re.search(r"; the second is (?:1\.9\d|2\.0\d) times .* as high", answer.evidence)


def test_it_happens_when_writing_somewhere() -> None:
    levels = {"tool": ["x", "y"], "target": ["a", "b"]}
    places = {("y", "b"): 20.0}
    found = texts(counted(levels, lambda w: places.get((w["tool"], w["target"]), 10.0)))
    told = [text for text in found if "depends on where it writes: the ratio of" in text]
    assert told and all("as large when writing to b as when writing to a" in t for t in told)


def test_requests_depend_on_what_certainly_matters():
    at_64 = counted(
        {"nodes": [8, 16, 32, 64]},
        lambda where: 36 * (1.03 if where["nodes"] == 64 else 1),
        scatter=0.02,
        seed=106,
    )
    assert at_64.headline == (
        "Requests depend on the number of nodes; these runs cannot tell yet how."
    )
