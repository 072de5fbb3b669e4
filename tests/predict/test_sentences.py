"""Each sentence that predictions print stands where it is true, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tailrace.errors import TailraceError
from tailrace.predict import command
from tailrace.predict.change import Change, Known
from tailrace.predict.methods import Way
from tailrace.predict.model import Model, load
from tailrace.predict.whatif import COMPUTATION, Prediction, Run, left_to_gain

from .test_model import toml, written
from .test_simulate import WORKLOAD, prediction, simulated
from .test_whatif import reader, trace  # noqa: F401 - fixtures

ON_SERVERS = "what is read lies on the servers"
NOTHING_ELSE = "nothing else changes"
READS = '[[input]]\nname = "before"\nvariable = [{ name = "a", source = "tracer:0" }]\n'


def model(folder: Path, **changes: str) -> Model:
    return load(written(folder, toml(**changes)))


def assumed(change: Change, **known: object) -> str:
    return "\n".join(replace(change, known=Known(**known)).assumes)  # type: ignore[arg-type]


def found(predicted: float, low: float, high: float, change: Change | None = None) -> Prediction:
    return Prediction(change or Change(io=2), predicted, (low, high), {}, COMPUTATION)


def test_what_the_client_may_have_is_said_of_clients_that_keep_it(tmp_path: Path) -> None:
    keeps, forgets = (model(tmp_path, rereads=f'"{word}"') for word in ("always", "while_open"))
    assert "at best the client has it already" in assumed(Change(target=keeps))
    assert "the client has what is read" in assumed(Change(target=keeps, cache="warm"))
    assert ON_SERVERS not in assumed(Change(target=keeps, cache="cold"))
    assert ON_SERVERS not in assumed(Change(target=forgets))
    warm = assumed(Change(target=forgets, cache="warm"))
    assert f"{ON_SERVERS}: by its model, plain keeps nothing" in warm
    assert "the client has what is read" not in warm
    assert ON_SERVERS not in assumed(Change(target=keeps), reads=False)


def test_whether_a_run_reads_what_moves_is_known(
    trace: Path,  # noqa: F811
    reader: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    keeps = model(tmp_path, rereads='"always"')
    for run, is_read in ((reader, True), (trace, False)):
        change = Change(target=keeps, directory=run.parents[1])
        assert any(ON_SERVERS in said for said in Run(run).predict(change).change.assumes) == (
            is_read
        )


def test_nothing_else_changes_where_nothing_else_does(tmp_path: Path) -> None:
    moved = Change(target=model(tmp_path))
    assert NOTHING_ELSE in assumed(replace(moved, directory=Path("/files"), cache="cold"))
    for more in ({"compute": 2.0}, {"overlap": True}, {"merge": 100}, {"way": Way("serial")}):
        assert NOTHING_ELSE not in assumed(replace(moved, **more))


def test_of_calls_that_cost_what_a_model_says_none_takes_its_measured_time(tmp_path: Path) -> None:
    measured, modelled = "takes its measured time divided", "what the model says of a call is"
    assert measured in assumed(Change(io=2))
    faster = Change(io=2, target=model(tmp_path))
    assert modelled in assumed(faster) and measured not in assumed(faster)
    some = assumed(replace(faster, directory=Path("/files")))
    assert f"{modelled} divided by the factor; every other call {measured}" in some


def test_what_a_model_says_has_no_waits_for_a_processor(tmp_path: Path) -> None:
    said, waited = "wait for no processor", {"io": 0.5}
    assert said in assumed(Change(target=model(tmp_path)), waited=waited)
    assert said not in assumed(Change(target=model(tmp_path)))
    assert said not in assumed(Change(io=2), waited=waited)


def test_what_a_write_takes_by_itself_is_told_from_sizes_that_differ() -> None:
    merged, told, untold = Change(merge=100), "told from writes of several", "of about one size"
    assert told in assumed(merged)
    one = assumed(merged, tells_writes=False)
    assert untold in one and told not in one
    none = assumed(merged, tells_writes=None)
    assert untold not in none and told not in none


def test_a_run_whose_writes_are_of_one_size_says_so(trace: Path) -> None:  # noqa: F811
    said = Run(trace).predict(Change(merge=10_000)).change.assumes
    assert any("of about one size" in sentence for sentence in said)


def test_none_would_save_what_some_may() -> None:
    """Of 4 s 1 % is 0.04 s: the first change may save 1 s, the second 0.03 s at most."""
    open_, sure = found(3.99, 3.0, 4.0), found(4.0, 3.97, 4.1)
    assert command.headline(4.0, [sure, sure]) == (
        "None of 2 changes would save more than 1.0 % of the run's 4.00 s."
    )
    assert command.headline(4.0, [open_, sure]) == (
        "None of 2 changes is predicted to save more than 1.0 % of the run's 4.00 s; 1 may."
    )


def test_a_change_that_changes_nothing_takes_nothing_instead_of_nothing() -> None:
    assert command.headline(4.0, [found(4.0001, 3.999, 4.03)]) == (
        "File system twice as fast: the run would take 4.00 s (between 4.00 s and 4.03 s), as it"
        " did."
    )
    assert command._saved(found(4.0001, 4.0, 4.0001), 4.0) == "0 %"
    assert command._saved(found(4.1, 4.0, 4.1), 4.0) == "none: 1.02 times as long"


def test_the_best_change_has_rivals_if_what_it_leaves_open_reaches_them() -> None:
    """The first takes 3 s, or 3.6 at worst; the second 3.5 whatever happens."""
    best, other = found(3.0, 3.0, 3.6), found(3.5, 3.5, 3.5)
    assert command.headline(6.0, [best, other]).endswith("Another may give as much.")
    best = found(3.0, 3.0, 3.4)
    assert command.headline(6.0, [best, other]).endswith("instead of 6.00 s.")


def test_what_is_left_to_gain_is_what_takes_most_time() -> None:
    """Of 100 s 96 are messages and 4 are files, and nothing is computed; of 100 s 10 are computed
    by the slower of two ranks, 5 on average, and 90 are files."""
    nothing_computed = {"transfer": 0.04, "io": 0.0, "serialization": 1.0, "load_balance": 1.0}
    assert left_to_gain(nothing_computed) == "time in MPI"
    files = {"transfer": 1.0, "io": 0.1, "serialization": 1.0, "load_balance": 0.05}
    assert left_to_gain(files) == "time in files"
    good = {"transfer": 0.96, "io": 0.97, "serialization": 0.98, "load_balance": 0.97}
    assert left_to_gain(good) == COMPUTATION
    assert left_to_gain({**good, "load_balance": 0.9}) == "ranks compute unequally"


def test_without_computing_no_efficiency_says_anything(tmp_path: Path) -> None:
    words = ("--ranks", 1, "--method", "serial", "--format", "posix")
    assert "Efficiencies" not in simulated(tmp_path, toml(write="1"), *words).output
    some = simulated(tmp_path, toml(write="1"), *words, "--step-seconds", 1).output
    assert "Efficiencies: parallel" in some


@pytest.mark.parametrize("method", ["collective", "aggregated"])
def test_more_aggregators_than_ranks_are_refused(
    trace: Path,  # noqa: F811
    method: str,
    tmp_path: Path,
) -> None:
    run = Run(trace, outputs=True)
    change = Change(target=model(tmp_path), way=Way(method, 2))  # type: ignore[arg-type]
    with pytest.raises(TailraceError, match="has 1 rank, so 2 cannot write") as raised:
        run.predict(change)
    assert raised.value.hint == "--aggregators takes 1 to 1"


def test_a_simulation_says_of_caches_nodes_and_computing_what_is_so(tmp_path: Path) -> None:
    def said(rereads: str, *options: object, workload: str = WORKLOAD + READS) -> str:
        content = toml(rereads=f'"{rereads}"')
        chosen = ("--method", "serial", "--format", "posix", *options)
        return "\n".join(prediction(tmp_path, content, *chosen, workload=workload)["assumes"])

    one = ("--ranks", 1)
    assert "at best the client has it" in said("always", *one)
    assert ON_SERVERS not in said("while_open", *one)
    assert "keeps nothing of a file" in said("while_open", *one, "--cache", "warm")
    assert ON_SERVERS not in said("always", *one, workload=WORKLOAD)
    assert "--step-seconds" in said("always", *one)
    assert "--step-seconds" not in said("always", *one, "--step-seconds", 0)
    assert "share one node" in said("always", "--ranks", 4)
    assert "share one node" not in said("always", "--ranks", 4, "--ranks-per-node", 2)
    assert "2 ranks share a node" in said("always", "--ranks", 4, "--ranks-per-node", 2)
