"""What single values of a study file cannot tell: how they go together. Each problem is the key's
path and a text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from tailrace.study.definition import placeholders, setups
from tailrace.study.definition.columns import BY_NAME, MEASURED, RUN_TIME
from tailrace.study.definition.model import (
    Cache,
    Expect,
    FactorDefinition,
    Level,
    MattersMore,
    RunDefinition,
    StudyDefinition,
    Target,
)
from tailrace.toml_file import Problem

SINGLE = (*setups.BY_NAME, "pair")
COUNTS = ("ranks", "nodes", "ranks_per_node", "threads")
ONLY_WORKLOADS = ("size", "method", "format", "set", "hints", "settings", "step_seconds")
ONLY_COMMANDS = ("environment", "working_directory", "output_pattern", "expected_files", "reads")


# By factor, the levels that may be spoken of.
Known = Mapping[str, Sequence[Level]]


def problems(study: StudyDefinition, others: Sequence[Known] = ()) -> Iterator[Problem]:
    """In the order in which a reader meets them. `others`: the factors' levels in the study's other
    sizes, and before changes: what is said of them is skipped and is no problem."""
    known = {
        name: list(dict.fromkeys([*factor.levels, *_levels_of(others, name)]))
        for name, factor in study.factor.items()
    }
    yield from _run(study)
    yield from _factors(study)
    yield from _nodes(study)
    yield from _targets(study)
    yield from _fraction(study, known)
    yield from _leave_outs(study, known)
    yield from _expectations(study, known)
    if study.response not in responses(study):
        yield ("response",), f"there is no response {study.response!r}"
    named = pattern_names(study.run)
    for name in study.responses:
        if name not in named:
            there = f"; it has {', '.join(named)}" if named else ""
            yield ("responses", name), f"there is no such name in run.output_pattern{there}"
    if study.adaptive and study.adaptive.at_most < study.repetitions:
        yield ("adaptive", "at_most"), f"is less than repetitions, {study.repetitions}"


def _levels_of(others: Sequence[Known], name: str) -> Iterator[Level]:
    return (level for other in others for level in other.get(name, ()))


def responses(study: StudyDefinition) -> frozenset[str]:
    """The columns that a run gives a number for."""
    return frozenset((*MEASURED, *pattern_names(study.run)))


def pattern_names(run: RunDefinition) -> list[str]:
    return [name for pattern in run.patterns for name in re.compile(pattern).groupindex]


def _run(study: StudyDefinition) -> Iterator[Problem]:
    run = study.run
    if (run.workload is None) == (run.command is None):
        yield ("run",), "needs exactly one of workload and command"
        return
    where = "workload" if run.workload is not None else "command"
    for key in ONLY_COMMANDS if where == "workload" else ONLY_WORKLOADS:
        if key in run.model_fields_set:
            yield (
                ("run", key),
                f"is only valid with a {'command' if where == 'workload' else 'workload'}",
            )
    if study.slurm is not None and run.launcher.split()[:1] != ["srun"]:
        yield ("run", "launcher"), 'must be "srun" in a study with [slurm]'
    if where == "command":
        yield from _command(study)
    elif run.shell:
        yield ("run", "shell"), "is only valid with a command"
    elif run.launcher == "none":
        yield ("run", "launcher"), 'cannot be "none" for a workload'


def _command(study: StudyDefinition) -> Iterator[Problem]:
    run = study.run
    if isinstance(run.command, str) != run.shell:
        wanted = (
            "a string for the shell"
            if run.shell
            else "a list of words, or a string with shell = true"
        )
        yield ("run", "command"), f"should be {wanted}"
        return
    known = setups.placeholders(study.factor)
    for key, text in _texts(run):
        try:
            unknown = [name for name in placeholders.names(text) if name not in known]
        except ValueError as error:
            yield key, f"{text!r} {error}"
            continue
        if unknown:
            yield (
                key,
                f"there is no factor {unknown[0]!r} for {{{unknown[0]}}}; there are"
                f" {', '.join(sorted(known))}",
            )
    states = [study.cache, *(level for name in study.factor for level in _states(study, name))]
    if not run.reads and (asked := [state for state in states if state != "as-is"]):
        yield ("cache",), f"{asked[0]!r} needs run.reads: which files does the command read?"
    names = pattern_names(run)
    for name in names:
        if name in BY_NAME or name in study.factor or names.count(name) > 1:
            yield ("run", "output_pattern"), f"{name!r} is already the name of a column"


def _states(study: StudyDefinition, name: str) -> Sequence[Level]:
    """Those of the cache that a factor asks for."""
    return study.factor[name].levels if setups.kind(study, name) == "cache" else ()


def _texts(run: RunDefinition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Everything in which placeholders are filled, with its key."""
    if isinstance(run.command, str):
        yield ("run", "command"), run.command
    else:
        yield from (
            (("run", "command", place), word) for place, word in enumerate(run.command or [])
        )
    yield from ((("run", "environment", name), text) for name, text in run.environment.items())
    for key, texts in (("expected_files", run.expected_files), ("reads", run.reads)):
        yield from ((("run", key, place), text) for place, text in enumerate(texts))
    if run.working_directory is not None:
        yield ("run", "working_directory"), run.working_directory


def _factors(study: StudyDefinition) -> Iterator[Problem]:
    allowed = setups.OF_WORKLOADS if study.run.workload is not None else setups.OF_COMMANDS
    seen: dict[str, str] = {}
    for name, factor in study.factor.items():
        key, kind = ("factor", name), setups.kind(study, name)
        if name in BY_NAME:
            yield key, "is already the name of a column of the results"
        if kind not in allowed:
            yield (*key, "kind"), f"{kind!r} is not valid here; use one of {', '.join(allowed)}"
        if kind in SINGLE and kind in seen:
            yield (*key, "kind"), f"{seen[kind]!r} already varies the {kind}"
        seen[kind] = name
        yield from (((*key, *rest), text) for rest, text in _levels(factor, kind))
        yield from (((*key, *rest), text) for rest, text in _depends(study, name))


def _nodes(study: StudyDefinition) -> Iterator[Problem]:
    """Two of ranks, nodes and ranks_per_node say the third."""
    given = {
        what: _counts(study, what)
        for what in ("ranks", "nodes", "ranks_per_node")
        if _counts(study, what)
    }
    if "nodes" not in given:
        if "ranks_per_node" in given:
            yield ("run", "ranks_per_node"), "is only valid with nodes"
        return
    if study.run.launcher == "none":
        yield ("run", "launcher"), 'cannot be "none" where ranks are placed on nodes'
    if len(given) == 3:
        yield ("run",), "needs ranks or ranks_per_node beside nodes, not both"
    for ranks in given.get("ranks", []) if len(given) == 2 else []:
        if uneven := [nodes for nodes in given["nodes"] if ranks % nodes]:
            yield ("run",), f"{ranks} ranks cannot be shared evenly by {uneven[0]} nodes"


def _counts(study: StudyDefinition, what: str) -> list[int]:
    of_factors = [
        level
        for name, factor in study.factor.items()
        if setups.kind(study, name) == what
        for level in factor.levels
        if type(level) is int and level > 0
    ]
    own = getattr(study.run, what)
    return of_factors or ([own] if own is not None else [])


def _levels(factor: FactorDefinition, kind: str) -> Iterator[Problem]:
    texts = [placeholders.as_text(level) for level in factor.levels]
    for place, level in enumerate(factor.levels):
        if texts.index(texts[place]) != place:
            yield ("levels", place), f"{texts[place]!r} is listed twice"
        if _sort(level) != _sort(factor.levels[0]):
            yield ("levels", place), f"{level!r} has another type than {factor.levels[0]!r}"
        if kind in COUNTS and (type(level) is not int or level < 1):
            what = kind.replace("_per_node", " on a node")
            yield ("levels", place), f"should be a number of {what}, not {level!r}"
        if kind in ("target", "read_target", "size", "method", "format") and not isinstance(
            level, str
        ):
            yield (
                ("levels", place),
                f"should be the name of a {kind.replace('_', ' ')}, not {level!r}",
            )
        if kind == "cache" and level not in get_args(Cache):
            yield ("levels", place), f"should be {', '.join(get_args(Cache))}, not {level!r}"
        if kind == "pair" and not re.fullmatch(r"[a-z-]+ [a-z0-9]+", texts[place]):
            yield (
                ("levels", place),
                f"should be a method and a format, as in 'collective hdf5', not {level!r}",
            )
        if any(ord(character) < 32 for character in texts[place]):
            yield ("levels", place), "must not contain line breaks or tabs"
    yield from _arguments(factor, kind)
    if factor.labels and len(factor.labels) != len(factor.levels):
        yield ("labels",), f"has {len(factor.labels)} texts for {len(factor.levels)} levels"


def _arguments(factor: FactorDefinition, kind: str) -> Iterator[Problem]:
    given = factor.arguments
    if given and kind != "placeholder":
        yield ("arguments",), "is only valid where the factor is a placeholder of a command"
    if isinstance(given, dict) != (factor.by is not None):
        yield ("by",), "names the factor on whose levels arguments depend: both or neither"
    for name, words in given.items() if isinstance(given, dict) else [("", given)]:
        if words and len(words) != len(factor.levels):
            key = ("arguments", name) if name else ("arguments",)
            yield key, f"has {len(words)} entries for {len(factor.levels)} levels"


def _depends(study: StudyDefinition, name: str) -> Iterator[Problem]:
    by, given = study.factor[name].by, study.factor[name].arguments
    if by is None or not isinstance(given, dict):
        return
    if by not in study.factor or by == name:
        yield ("by",), f"there is no other factor {by!r}"
        return
    levels = [placeholders.as_text(level) for level in study.factor[by].levels]
    yield from (
        (("arguments", key), f"is not a level of {by}") for key in given if key not in levels
    )
    for level in levels:
        if level not in given:
            yield ("arguments",), f"has nothing for {by} {level}"


def _fraction(study: StudyDefinition, known: Known) -> Iterator[Problem]:
    fraction = study.fraction
    if fraction is None:
        return
    for place, name in enumerate(fraction.factors):
        if name not in known:
            yield ("fraction", "factors", place), f"there is no factor {name!r}"
        elif len(study.factor[name].levels) != 2:
            yield ("fraction", "factors", place), f"{name} has not two levels"
    two = fraction.factors or [n for n, f in study.factor.items() if len(f.levels) == 2]
    if len(two) < 3:
        yield ("fraction",), f"needs three factors of two levels at least, and has {len(two)}"


def _sort(level: Level) -> str:
    return (
        "number"
        if isinstance(level, int | float) and not isinstance(level, bool)
        else type(level).__name__
    )


def _targets(study: StudyDefinition) -> Iterator[Problem]:
    for name, target in study.target.items():
        yield from ((("target", name, *rest), text) for rest, text in _target(study, target))
    for name in study.factor:
        if setups.kind(study, name) in ("target", "read_target"):
            for place, level in enumerate(study.factor[name].levels):
                if level not in study.target:
                    yield ("factor", name, "levels", place), f"there is no [target.{level}]"
    for key in ("target", "read_target"):
        if (level := getattr(study.run, key)) is not None and level not in study.target:
            yield ("run", key), f"there is no [target.{level}]"
    varied = any(setups.kind(study, name) == "target" for name in study.factor)
    if len(study.target) > 1 and not varied and study.run.target is None:
        yield (
            ("target",),
            "the study has several: choose one with run.target, or make the target a factor",
        )


def _target(study: StudyDefinition, target: Target) -> Iterator[Problem]:
    places = [target.directory, target.testbed, target.simulate]
    if target.directory is not None and target.testbed is not None:
        yield (), "needs one of directory and testbed, not both"
    elif sum(place is not None for place in places) > 1:
        yield (), "has a directory: it can be run or simulated, not both"
    if target.simulate is None:
        if target.ranks_per_node is not None:
            yield ("ranks_per_node",), "is only valid with simulate"
    elif study.run.workload is None:
        yield ("simulate",), "is only valid with a workload: a command cannot be simulated"
    elif study.response != RUN_TIME:
        yield ("simulate",), f"gives no {study.response!r}: the response must be {RUN_TIME!r}"


def _leave_outs(study: StudyDefinition, known: Known) -> Iterator[Problem]:
    for place, left_out in enumerate(study.leave_out):
        key = ("leave_out", place, "when")
        yield from (((*key, *rest), text) for rest, text in _conditions(known, left_out.when))


def _conditions(known: Known, when: Mapping[str, Level | list[Level]]) -> Iterator[Problem]:
    for name, wanted in when.items():
        if name not in known:
            yield (name,), f"there is no factor {name!r}; there are {', '.join(known)}"
            continue
        for level in wanted if isinstance(wanted, list) else [wanted]:
            if level not in known[name]:
                yield (name,), f"{level!r} is not a level of {name}"


def _expectations(study: StudyDefinition, known: Known) -> Iterator[Problem]:
    for place, expect in enumerate(study.expect):
        key = ("expect", place)
        yield from (
            ((*key, "where", *rest), text) for rest, text in _conditions(known, expect.where)
        )
        if len(expect.given) != 1:
            yield key, f"needs exactly one comparison, but has {', '.join(expect.given) or 'none'}"
        for response in filter(None, [expect.response, expect.share.of if expect.share else None]):
            if response not in responses(study):
                yield (*key, "response"), f"there is no response {response!r}"
        if expect.faster is not None and not _is_directed(study, expect.response or study.response):
            name = expect.response or study.response
            yield (
                (*key, "faster"),
                f'which is better of {name!r}? Say [responses.{name}] better = "more" or "less"',
            )
        yield from (((*key, *rest), text) for rest, text in _comparison(known, expect))


def _is_directed(study: StudyDefinition, response: str) -> bool:
    given = study.responses.get(response)
    return response in BY_NAME or (given is not None and given.better is not None)


def _comparison(known: Known, expect: Expect) -> Iterator[Problem]:
    for kind, table in expect.given.items():
        name = getattr(table, "factor", None)
        if name is None:
            continue
        if name not in known:
            yield (
                (kind, "factor"),
                f"there is no factor {name!r}; there are {', '.join(known)}",
            )
            continue
        if isinstance(table, MattersMore):
            for key, condition in (("with", table.with_), ("than", table.than)):
                yield from (((kind, key, *rest), t) for rest, t in _conditions(known, condition))
            if len(known[name]) != 2 and (table.level is None or table.to is None):
                yield (kind,), f"needs level and to: {name} has {len(known[name])} levels"
        for key in ("level", "than", "to"):
            level = getattr(table, key, None)
            if isinstance(level, Level) and level not in known[name]:
                yield (kind, key), f"{level!r} is not a level of {name}"
