"""`tailrace simulate`: reads the workload and the model, simulates, and says what it assumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.bench import loader
from tailrace.bench.command import changed_values, checked_pairs
from tailrace.bench.workload import Workload
from tailrace.names import printable
from tailrace.output import print_json
from tailrace.predict.change import assumed_of_cache
from tailrace.predict.model import Model, named
from tailrace.simulate import description, network
from tailrace.simulate.prediction import Simulated, simulate
from tailrace.terminal import console
from tailrace.units import percent, seconds


def main(word: str, target: Path, as_json: bool, given: dict[str, Any]) -> None:
    """`given` has the options of `tailrace simulate` by name."""
    workload, size, changes = _workload(word, given)
    pair = description.check(workload, given["method"], given["format_"])
    settings = dict(text.split("=", 1) for text in checked_pairs("--setting", given["settings"]))
    hints = dict(text.split("=", 1) for text in checked_pairs("--hint", given["hints"]))
    described = description.described(
        workload,
        given["ranks"],
        given["ranks_per_node"],
        pair,
        given["step_s"] or 0.0,
        description.checked_settings(settings, pair[0]),
        description.checked_hints(hints),
    )
    model = named(target)
    said = network.Given(given["latency_s"], given["bandwidth"], given["eager_limit_bytes"])
    messages = network.chosen(model, given["ranks"], given["ranks_per_node"], said)
    found = simulate(described, model, messages.network, given["cache"])
    answer = {
        "schema": 1,
        "workload": workload.name,
        "size": size,
        "ranks": given["ranks"],
        "method": pair[0],
        "format": pair[1],
        "target": model.name,
        "prediction": {
            "change": _words(given["ranks"], pair, model),
            "arguments": _arguments(given, (changes, settings, hints), pair, model),
            "assumes": list(_assumes(described, model, found, given, messages.assumes)),
            "predicted_s": found.predicted_s,
            "interval_s": list(found.interval_s),
            "efficiency": found.efficiency,
            "next": found.next,
        },
    }
    if as_json:
        print_json(answer)
    else:
        _print(workload, size, found, answer["prediction"])


def _workload(word: str, given: dict[str, Any]) -> tuple[Workload, str, dict[str, object]]:
    changes = changed_values(given["changes"])
    loaded = loader.load(word)
    workload = loader.sized(loaded, given["size"], changes, "--set ")
    loader.check_ranks(workload, given["ranks"])
    return workload, given["size"] or loaded.default_size, changes


def _words(ranks: int, pair: tuple[str, str], model: Model) -> str:
    number = f"{ranks:,} ranks" if ranks > 1 else "1 rank"
    return f"{number}, {pair[0]}, {pair[1]}, on {model.name}"


def _arguments(
    given: dict[str, Any],
    added: tuple[dict[str, Any], ...],
    pair: tuple[str, str],
    model: Model,
) -> dict[str, Any]:
    named = {
        "ranks": given["ranks"],
        "ranks_per_node": given["ranks_per_node"],
        "method": pair[0],
        "format": pair[1],
        "target": model.name,
    }
    chosen = ("step_s", "latency_s", "bandwidth", "cache")
    optional = {name: given[name] for name in chosen if given[name] is not None}
    several = zip(("set", "setting", "hint"), added, strict=True)
    return named | optional | {name: pairs for name, pairs in several if pairs}


def _assumes(
    described: dict[str, Any],
    model: Model,
    found: Simulated,
    given: dict[str, Any],
    of_messages: tuple[str, ...],
) -> Any:
    """What the prediction takes for granted."""
    yield f"every call in files costs what {model.name} says, and nobody else uses it"
    if any(not stream["is_output"] for stream in described["streams"]):
        yield from assumed_of_cache(model, given["cache"])
    yield _assumed_of_computing(given["step_s"])
    if described["ranks"] > 1:
        yield from of_messages
        yield from _assumes_of_ranks(described)
    if described["format"] == "mpiio":
        yield "MPI-IO asks the file system for what ROMIO in Open MPI 4.1 does"
    yield "buffers are filled and packed in no time, and no output is there before the run"
    if found.together > 1:
        yield (
            f"up to {found.together:,} calls of a rank are taken as one that takes as long as all"
            " of them, so that calls of other ranks do not come in between"
        )
    if found.repeated:
        yield (
            f"{found.repeated:,} of {described['steps']:,} model steps take with their output what"
            " those before them took"
        )


def _assumed_of_computing(step_s: float | None) -> str:
    if step_s is None:
        return "computing takes no time: --step-seconds says what a model step takes"
    if not step_s:
        return "computing takes no time"
    return f"a model step computes for {seconds(step_s)} on the rank with the most cells"


def _assumes_of_ranks(described: dict[str, Any]) -> Any:
    per_node = described["ranks_per_node"]
    if described["ranks"] <= per_node:
        yield "all ranks share one node and its cache: --ranks-per-node says how many do"
    elif per_node > 1:
        yield f"{per_node} ranks share a node and its cache, and neighbours in rank its memory"
    yield "the ranks of a step go on together when the slowest is done"


def _print(workload: Workload, size: str, found: Simulated, prediction: dict[str, Any]) -> None:
    out = console()
    low, high = map(seconds, found.interval_s)
    between = "" if low == high else f" (between {low} and {high})"
    out.print(
        f"{printable(workload.name)} ({size}) on {prediction['change']}, would take"
        f" {seconds(found.predicted_s)}{between}.",
        style="bold",
        soft_wrap=True,
    )
    out.print()
    if found.efficiency["parallel"]:  # without computing none of them says anything
        parts = ", ".join(
            f"{name.replace('_', ' ')} {percent(value)}" for name, value in found.efficiency.items()
        )
        out.print(f"Efficiencies: {parts}.", soft_wrap=True)
    out.print(f"What is left to gain: {found.next}.", soft_wrap=True)
    out.print()
    out.print("It assumes:", soft_wrap=True)
    for sentence in prediction["assumes"]:
        out.print(f"- {sentence}", soft_wrap=True)
