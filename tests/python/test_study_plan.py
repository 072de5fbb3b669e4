"""What `tailrace study plan` selects, by arithmetic, and that its command measures just that."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tailrace
from tailrace.study.analysis.contenders import Timed
from tailrace.study.analysis.factors import StudyFactor
from tailrace.study.definition import design, loader
from tailrace.study.planning.leaving_out import conditions
from tailrace.study.planning.prediction import Predicted
from tailrace.study.planning.selection import select
from tailrace.study.planning.show import notes

from ..predict.test_model import toml
from .bench_runs import Bench
from .study_files import study
from .test_report import check_schema
from .test_study_simulated import STUDY, placed, sentence

METHODS = ("collective", "independent", "serial")
FACTORS = [StudyFactor("method", "method", METHODS), StudyFactor("ranks", "ranks", (4, 8))]
# By place and choice: value, low, high.
TIMES = {
    # The bar is 2, the high end of collective: 1.5 is not beyond it, 2.5 is.
    (4, "collective"): (1.4, 1.0, 2.0),
    (4, "independent"): (2.0, 1.5, 3.0),
    (4, "serial"): (3.0, 2.5, 4.0),
    # The bar is 5, and only serial is not beyond it.
    (8, "collective"): (7.0, 6.0, 9.0),
    (8, "independent"): (6.0, 5.1, 8.0),
    (8, "serial"): (4.0, 3.0, 5.0),
}


def predicted(times: dict[Any, tuple[float, float, float]]) -> list[Predicted]:
    return [
        Predicted(Timed({"method": method, "ranks": ranks}, *three))
        for (ranks, method), three in times.items()
    ]


def chosen(found: Any) -> list[tuple[int, str]]:
    return [list(TIMES)[number] for number in found.why]


def test_what_lies_beyond_the_best_is_not_measured() -> None:
    found = select(FACTORS, predicted(TIMES), [], 3)
    assert chosen(found) == [(4, "collective"), (4, "independent")]
    assert [race.decided for race in found.races] == [False, True]
    # three times 1.4 and 2, of three times 1.4 + 2 + 3 + 7 + 6 + 4
    assert found.planned.value == pytest.approx(10.2)
    assert (found.planned.low, found.planned.high) == (pytest.approx(7.5), pytest.approx(15))
    assert found.whole.value == pytest.approx(70.2)
    assert found.saving == pytest.approx(1 - 10.2 / 70.2)


def test_what_touches_the_bar_is_measured() -> None:
    touching = TIMES | {(4, "serial"): (3.0, 2.0, 4.0)}
    assert (4, "serial") in chosen(select(FACTORS, predicted(touching), [], 3))


def test_what_has_no_prediction_may_take_any_time() -> None:
    some = predicted(TIMES)
    unknown = Timed({"method": "collective", "ranks": 8}, math.nan, 0.0, math.inf)
    some[3] = Predicted(unknown, "no model")
    found = select(FACTORS, some, [], 3)
    # at 8 ranks it may win against serial; independent still cannot
    assert chosen(found)[2:] == [(8, "collective"), (8, "serial")]
    assert found.saving is None and found.whole.unknown == 1


def decides(measured: set[int], worlds: list[tuple[int, ...]]) -> bool:
    """Whether, whatever is measured, some choice is then known to take the least time."""
    best: dict[tuple[int, ...], set[int]] = {}
    for world in worlds:
        found = {number for number, time in enumerate(world) if time == min(world)}
        seen = tuple(world[number] for number in sorted(measured))
        best[seen] = best.get(seen, found) & found
    return all(best.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_selection_is_the_least_that_decides(seed: int) -> None:
    """Against all selections there are, in all worlds that the intervals allow: each that decides
    has what is selected, and what is selected decides."""
    random = Random(seed)
    number = 2 + seed % 3
    ends = random.sample(range(0, 8 * number, 2), 2 * number)
    spans = [sorted(ends[at : at + 2]) for at in range(0, 2 * number, 2)]
    worlds = list(itertools.product(*(range(low, high + 1) for low, high in spans)))
    names = (*METHODS, "aggregated")
    factors = [StudyFactor("method", "method", names)]
    some = [
        Predicted(Timed({"method": name}, low, low, high))
        for name, (low, high) in zip(names, spans, strict=False)
    ]
    selected = set(select(factors, some, [], 1).why)
    assert decides(selected, worlds)
    for size in range(number + 1):
        for others in map(set, itertools.combinations(range(number), size)):
            assert selected <= others or not decides(others, worlds)


LEVELS = {"method": ["a", "b", "c"], "ranks": [1, 2, 4], "quick": [True, False]}


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_out_is_that_and_nothing_else(seed: int) -> None:
    every = [dict(zip(LEVELS, some, strict=True)) for some in itertools.product(*LEVELS.values())]
    out = [one for number, one in enumerate(every) if (number * 7 + seed) % 5 < 3]
    found = conditions(LEVELS, out)
    for one in every:
        named = [table for table in found if design.matches(table.when, one)]
        assert len(named) == (one in out)


def test_levels_with_the_same_company_are_named_together() -> None:
    out = [{"method": "b", "ranks": ranks, "quick": True} for ranks in (2, 4)]
    (found,) = conditions(LEVELS, out)
    assert found.when == {"method": "b", "ranks": [2, 4], "quick": True}


# --- the verb


def plan(path: Path, *more: object) -> dict[str, Any]:
    result = study("plan", path, "--json", *more)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    check_schema(answer, "study-to-measure.json")
    return answer


def servers(folder: Path, name: str, per_second: str) -> None:
    """Whose only cost is that all ranks' calls on names queue."""
    text = toml(name=name) + f"\n[metadata]\nper_second = {per_second}\n"
    (folder / f"{name}.toml").write_text(text)


SURE = "{ value = 10, low = 9, high = 11 }"
UNSURE = "{ value = 10, low = 3, high = 30 }"


def queues(folder: Path) -> Path:
    """By file-per-rank four ranks make about four times the calls on names that serial makes: that
    decides it on `fast`, where they take a tenth more or less, and not on `slow`, where they may
    take a third or three times as much."""
    path = placed(folder)
    servers(folder, "fast", SURE)
    servers(folder, "slow", UNSURE)
    return path


def test_only_the_place_that_is_open_is_measured(tmp_path: Path) -> None:
    answer = plan(queues(tmp_path), "--question", "best")
    by_target = {place["where"]["target"]: place for place in answer["places"]}
    assert by_target["fast"]["decided"] and not by_target["slow"]["decided"]
    assert by_target["fast"]["may_be_best"] == [{"method": "serial"}]
    assert [one["levels"] for one in answer["measure"]] == [
        {"method": "serial", "target": "slow"},
        {"method": "file-per-rank", "target": "slow"},
    ]
    times = {tuple(one["levels"].values()): one["predicted_s"] for one in answer["measure"]}
    serial = times["serial", "slow"]
    assert serial["low"] == pytest.approx(serial["value"] / 3, rel=1e-2)
    sums = sum(found["value"] for found in times.values())
    assert answer["cost"]["value_s"] == pytest.approx(3 * sums)
    assert answer["headline"].startswith("Measure 2 of 4 combinations: 6 runs, about")
    saving = 1 - answer["cost"]["value_s"] / answer["whole_cost"]["value_s"]
    assert answer["saving"] == pytest.approx(saving)
    assert "--target" in answer["command"] and "slow=DIR" in answer["command"]


def test_its_command_leaves_out_the_others(tmp_path: Path) -> None:
    path = queues(tmp_path)
    answer = plan(path, "--question", "best")
    changes = dict(
        loader.parsed_change(word)
        for before, word in itertools.pairwise(answer["command"])
        if before == "--set"
    )
    loaded = loader.load(path, None, changes)
    assert list(design.combinations(loaded.study)) == [one["levels"] for one in answer["measure"]]


def test_claims_that_the_predictions_decide_need_nothing(tmp_path: Path) -> None:
    answer = plan(placed(tmp_path), "--question", "claims")
    # a second to open against a tenth; and of the methods each may be off by a fifth
    assert [claim["predicted"] for claim in answer["claims"]] == ["held", "not held", "undecided"]
    assert [claim["combinations"] for claim in answer["claims"]] == [[], [], [0, 1, 2, 3]]
    assert answer["places"] == [] and len(answer["measure"]) == 4
    assert answer["claims"][0]["evidence"].endswith("; simulated, on quick and tardy")


def test_no_claim_is_decided_without_what_computing_takes(tmp_path: Path) -> None:
    path = placed(tmp_path, STUDY.replace("step_seconds = 0\n", ""))
    answer = plan(path, "--question", "claims")
    assert {claim["predicted"] for claim in answer["claims"]} == {"undecided"}
    assert len(answer["measure"]) == 4
    assert "be it 0" in answer["claims"][0]["evidence"]


def test_of_a_claim_about_each_place_only_those_that_are_open(tmp_path: Path) -> None:
    path = queues(tmp_path)
    claim = 'everywhere = true\nfaster = { factor = "method", level = "serial",'
    text = path.read_text().replace('faster = { factor = "method", level = "serial",', claim)
    path.write_text(text)
    answer = plan(path, "--question", "claims")
    needed = {
        answer_["levels"]["target"]
        for answer_ in answer["measure"]
        if answer_["combination"] in answer["claims"][2]["combinations"]
    }
    assert needed == {"slow"}


def test_nothing_has_to_be_measured_where_all_is_decided(tmp_path: Path) -> None:
    path = queues(tmp_path)
    servers(tmp_path, "slow", SURE)
    answer = plan(path, "--question", "best")
    assert answer["measure"] == [] and answer["command"] == []
    assert answer["headline"] == "Nothing has to be measured: the predictions decide it."


def test_targets_without_a_model_are_measured(tmp_path: Path) -> None:
    path = queues(tmp_path)
    path.write_text(path.read_text().replace('simulate = "slow.toml"', 'directory = "/tmp"'))
    answer = plan(path, "--question", "best")
    assert {one["levels"]["target"] for one in answer["measure"]} == {"slow"}
    assert answer["whole_cost"]["without_prediction"] == 2 and answer["saving"] is None
    more = plan(path, "--question", "best", "--model", f"slow={tmp_path / 'fast.toml'}")
    assert more["measure"] == []


def test_the_terminal_begins_with_the_answer(tmp_path: Path) -> None:
    shown = study("plan", queues(tmp_path), "--question", "best")
    assert shown.exit_code == 0, shown.output
    first, *_ = shown.stdout.splitlines()
    assert first.startswith("Measure 2 of 4 combinations: 6 runs, about") and "saves" in first
    assert "Measure them with" in shown.stdout and "tailrace study run" in shown.stdout


@pytest.mark.slow
def test_its_command_runs(bench: Bench) -> None:
    folder = bench.directory.parent
    path = queues(folder)
    for name in ("fast", "slow"):
        (folder / name).mkdir()
        place = f'directory = "{folder / name}"'
        path.write_text(path.read_text().replace(f'simulate = "{name}.toml"', place))
    text = path.read_text().replace("ranks = 4", f'ranks = 4\nlauncher = "{bench.mpiexec}"')
    path.write_text(text.replace("repetitions = 3", "repetitions = 1"))
    models = [f"--model={name}={folder / name}.toml" for name in ("fast", "slow")]
    answer = plan(path, "--question", "best", *models)
    result = study(*answer["command"][2:], "-o", folder / "out")
    assert result.exit_code == 0, result.output
    runs = tailrace.open_study(folder / "out").runs
    assert set(runs["status"]) == {"done"} and set(runs["target"]) == {"slow"}
    assert sorted(runs["method"]) == ["file-per-rank", "serial"]


# --- wrong uses


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "there is no model of any target of mine"),
        (("--model", "nowhere=lustre"), "mine has no target nowhere"),
        (("--model", "slow=lustrous"), "there is no model lustrous"),
        (("--model", "slow=none.toml"), "target slow: "),
        (("--model", "slow=lustre", "--model", "slow=nfs"), "names slow twice"),
        (("--question", "all"), "'all' is not one of"),
    ],
)
def test_wrong_uses(tmp_path: Path, more: tuple[str, ...], told: str) -> None:
    path = placed(tmp_path)
    text = path.read_text()
    for name in ("fast", "slow"):
        text = text.replace(f'simulate = "{name}.toml"', 'directory = "/tmp"')
    path.write_text(text)
    assert told in sentence(study("plan", path, *more))


def test_a_study_that_asks_nothing(tmp_path: Path) -> None:
    text = STUDY.split("[[expect]]")[0]
    text = text.replace('levels = ["serial", "file-per-rank"]', 'levels = ["serial"]')
    assert "there is nothing to decide" in sentence(study("plan", placed(tmp_path, text)))


def test_a_study_of_which_nothing_can_be_predicted(tmp_path: Path) -> None:
    path = placed(tmp_path, STUDY.replace('"posix"', '"netcdf3"'))
    told = sentence(study("plan", path))
    assert "no combination of mine can be predicted: the format netcdf3 is not simulated" in told


def test_a_command_has_no_predictions(tmp_path: Path) -> None:
    text = 'schema = 1\nname = "mine"\ndescription = "A command."\n[run]\ncommand = ["true"]\n'
    path = tmp_path / "mine.toml"
    path.write_text(text + "[factor.first]\nlevels = [1, 2]\n")
    assert "runs a command, which cannot be predicted" in sentence(study("plan", path))


def test_coarse_predictions_are_told() -> None:
    some = predicted(TIMES)
    some[1] = some[1]._replace(together=7)
    (_, told) = notes(select(FACTORS, some, [], 3))
    assert told == "1 prediction of 6 took up to 7 calls of a rank as one"


def test_what_was_selected_can_be_simulated_in_full(tmp_path: Path) -> None:
    """The plan's times are those that a simulated study has."""
    path = queues(tmp_path)
    answer = plan(path, "--question", "best")
    servers_runs = study("run", path, "-o", tmp_path / "out")
    assert servers_runs.exit_code == 0, servers_runs.output
    runs = tailrace.open_study(tmp_path / "out").runs.set_index(["method", "target"])
    for one in answer["measure"]:
        assert runs.loc[tuple(one["levels"].values()), "elapsed_s"] == one["predicted_s"]["value"]
