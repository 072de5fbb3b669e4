"""[[expect]]: statements are answered by what their words say, in each place and at each step."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.study.analysis.expect import Judgement, evaluate
from tailrace.study.analysis.measured import Measured
from tailrace.study.analysis.summary import Summary

from .simulated_shares import SHARES, share_answer
from .study_data import study


def answer_of(levels, time_s, given, scatter=0.01, **options):
    expect = [{"claim": "?", **given}]
    (found,) = evaluate(study(levels, time_s, scatter=scatter, expect=expect, **options))
    return found


TWO_PLACES = {"ranks": [1, 2, 4], "target": ["local", "remote"]}


def falls_in_one_place(where):
    return 10.0 * where["ranks"] ** (-0.9 if where["target"] == "local" else 0.3)


def test_everywhere_is_not_the_average():
    """It falls to 0.29 times on local and rises 1.5 times on remote: 0.66 times on the average."""
    falls = {"falls_until": {"factor": "ranks", "level": 4}}
    assert answer_of(TWO_PLACES, falls_in_one_place, falls).answer == "held"
    found = answer_of(TWO_PLACES, falls_in_one_place, falls | {"everywhere": True})
    assert found.answer == "not held" and "in 1 of 2 places; writing to remote" in found.evidence


@pytest.mark.parametrize(
    ("times", "level", "answer"),
    [
        ((10, 4, 7, 9), 8, "not held"),  # lower at the end, but it rises from 2 on
        ((10, 5, 5, 5), 8, "not held"),  # flat from 2 on
        ((10, 5, 5, 5), 2, "held"),
        ((10, 7, 5, 4), 8, "held"),
    ],
)
def test_a_fall_is_one_at_each_step(times, level, answer):
    by_ranks = dict(zip((1, 2, 4, 8), times, strict=True))
    given = {"falls_until": {"factor": "ranks", "level": level}}
    found = answer_of({"ranks": list(by_ranks)}, lambda w: by_ranks[w["ranks"]], given, blocks=5)
    assert found.answer == answer, found.evidence


@pytest.mark.parametrize(
    ("exponent", "answer"), [(0.95, "held"), (1.6, "not held"), (0.3, "not held")]
)
def test_a_power_has_two_ends(exponent, answer):
    scales = {"factor": "ranks", "exponent_at_least": 0.7, "exponent_at_most": 1.3}
    found = answer_of({"ranks": [1, 2, 4, 8]}, lambda w: w["ranks"] ** exponent, {"scales": scales})
    assert found.answer == answer and "expected 0.7 to 1.3" in found.evidence


def test_a_power_must_lie_between_its_ends_at_each_step():
    """To the power 1.5 until 4 ranks, and 0.5 from there: 1 on the whole."""
    scales = {"factor": "ranks", "exponent_at_least": 0.7, "exponent_at_most": 1.3}
    found = answer_of(
        {"ranks": [1, 2, 4, 8, 16]},
        lambda w: min(w["ranks"], 4) ** 1.5 * max(w["ranks"] / 4, 1) ** 0.5,
        {"scales": scales},
    )
    assert found.answer == "not held" and "to the power 1.0" in found.evidence
    assert "; from 1 to 2 ranks to the power 1." in found.evidence
    ends = {"factor": "ranks", "exponent_at_least": 0.45, "exponent_at_most": 0.55}
    with_noise = answer_of(
        {"ranks": [1, 2, 4, 8, 16]}, lambda w: w["ranks"] ** 0.5, {"scales": ends}, scatter=0.1
    )
    assert with_noise.answer == "undecided"


@pytest.mark.parametrize(
    ("serial", "collective", "answer"),
    [(1.1, 1.4, "held"), (1.4, 1.1, "not held"), (0.9, 1.4, "held"), (1.2, 1.2, "undecided")],
)
def test_two_effects_are_compared(serial, collective, answer):
    """What remote does to serial and to collective runs; 1 / 0.9 is less than 1.4."""
    by_method = {"serial": serial, "collective": collective}
    more = {
        "factor": "target",
        "with": {"method": "collective"},
        "than": {"method": "serial"},
    }
    found = answer_of(
        {"method": list(by_method), "target": ["local", "remote"]},
        lambda w: by_method[w["method"]] if w["target"] == "remote" else 1.0,
        {"matters_more": more},
        blocks=6,
    )
    assert found.answer == answer, found.evidence
    assert "elapsed time, remote over local: " in found.evidence


def test_what_was_not_run_is_skipped():
    found = answer_of(
        TWO_PLACES, falls_in_one_place, {"rises_beyond": {"factor": "ranks", "level": 32}}
    )
    assert (found.answer, found.evidence) == ("skipped", "it was run without 32 ranks")


def test_a_run_that_was_ended_took_at_least_so_long():
    """All on remote with 4 ranks: it may have been any time beyond 20 s."""
    measured = study(
        TWO_PLACES,
        falls_in_one_place,
        expect=[{"claim": "?", "does_not_matter": {"factor": "target", "within": 99.0}}],
    )
    late = (measured.runs["target"] == "remote") & (measured.runs["ranks"] == 4)
    runs = measured.runs.assign(
        status=np.where(late, "timeout", "done"),
        elapsed_s=np.where(late, np.nan, measured.runs["elapsed_s"]),
    )
    plan = measured.plan | {"study": {**measured.plan["study"], "run": {"time_limit_s": 20.0}}}
    summary = Summary(Measured(plan, runs))
    assert summary.headline.startswith("3 runs of 18 did not end in time, all of them with")
    assert not any("does not matter" in one.text for one in summary.found.findings)
    (found,) = summary.answers
    assert found.answer == "undecided"


def test_two_levels_may_differ_more_than_either_from_the_first():
    """By 9 % from the first each, and by 19 % from each other."""
    times = {"a": 10.0, "b": 10.9, "c": 9.17}
    matters = {"factor": "method", "within": 0.1}
    for given, answer in (("does_not_matter", "not held"), ("matters", "held")):
        found = answer_of({"method": list(times)}, lambda w: times[w["method"]], {given: matters})
        assert str(found.answer) == answer and "c against b" in found.evidence
    flat = {"flat_beyond": {"factor": "ranks", "level": 2, "within": 0.1}}
    by_ranks = {1: 20.0, 2: 10.0, 4: 10.9, 8: 9.17}
    found = answer_of({"ranks": list(by_ranks)}, lambda w: by_ranks[w["ranks"]], flat)
    assert str(found.answer) == "not held"


def test_an_interval_that_seems_to_decide_says_of_how_many_pairs_it_is():
    """The farthest of three pairs is surely beyond only by an interval that allows for all three:
    where that leaves it open, it is told, and else not."""
    times, seen = {"a": 10.0, "b": 10.0, "c": 12.0}, set()
    given = {"does_not_matter": {"factor": "method", "within": 0.05}}
    for seed in range(40):
        found = answer_of(
            {"method": list(times)}, lambda w: times[w["method"]], given, 0.04, seed=seed
        )
        seems = found.estimate.outside(0.05) and found.answer == "undecided"
        assert ("; as the farthest of 3 pairs, " in found.evidence) == seems, found
        seen.add(seems)
    assert seen == {True, False}


def test_a_share_is_as_uncertain_as_its_blocks_are() -> None:
    answer = share_answer(0.95, 3, 1)
    assert answer.answer is Judgement.HELD and answer.estimate is not None
    assert answer.estimate.high / answer.estimate.low > 1.003
    for happens in SHARES.values():
        assert sum(map(happens, range(40))) <= 6


def test_what_matters_more_is_counted_over_places():
    """The target costs 3 times with collective output and nothing with serial; on two of three
    meshes not even that. The condition is no part of a place, which the mesh is."""
    more = {"factor": "target", "with": {"method": "collective"}, "than": {"method": "serial"}}
    levels = {
        "mesh": ["x", "y", "z"], "method": ["serial", "collective"], "target": ["local", "remote"],
    }  # fmt: skip

    def time_s(where):
        remote = where["target"] == "remote" and where["method"] == "collective"
        return 3.0 if remote and where["mesh"] == "x" else 1.0

    found = answer_of(levels, time_s, {"matters_more": more, "everywhere": True}, scatter=0.1)
    assert found.answer == "undecided", found.evidence
    assert found.evidence.startswith("undecided in 2 of 3 places; mesh y: "), found.evidence


def test_a_place_that_a_statement_turns_at_must_have_been_run():
    """Of the places that are listed some will do; not of where the time is to fall until."""
    until = {"factor": "ranks", "level": 8}
    given = {"where": {"ranks": [1, 2, 4, 8]}, "falls_until": until}
    found = answer_of(TWO_PLACES, falls_in_one_place, given)
    assert (found.answer, found.evidence) == ("skipped", "it was run without 8 ranks")
    listed = {"where": {"ranks": [1, 2, 4, 8]}, "falls_until": until | {"level": 4}}
    assert answer_of(TWO_PLACES, falls_in_one_place, listed).answer != "skipped"
