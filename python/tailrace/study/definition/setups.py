"""What a combination of levels means: how many ranks, which size, which directories, which
arguments."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailrace.study.definition.model import FactorDefinition, Level, StudyDefinition
from tailrace.study.definition.placeholders import as_text

OF_ALL = ("target", "read_target", "ranks", "nodes", "ranks_per_node", "threads", "cache")
BY_NAME = (*OF_ALL, "size", "method", "format")
OF_COMMANDS = (*OF_ALL, "placeholder")
OF_WORKLOADS = (*BY_NAME, "pair", "hint", "setting", "set")
# What a command may use beside the factors.
ALWAYS = ("target", "read_target", "directory", "ranks", "nodes", "threads", "run")


@dataclass(frozen=True)
class Setup:
    """One combination as it is run. Targets are names of the study's; None: the study's own
    directory. `nodes`: None where the launcher places ranks as it likes, else each has
    `ranks_per_node` of them."""

    levels: Mapping[str, Level]
    ranks: int
    threads: int
    target: str | None
    read_target: str | None
    size: str | None = None
    method: str | None = None
    format: str | None = None
    set: Mapping[str, object] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    nodes: int | None = None
    ranks_per_node: int = 1
    cache: str = "as-is"


def kind(study: StudyDefinition, name: str) -> str:
    """What a factor varies: what it says, else what its name says, else a placeholder or a key of
    the workload."""
    factor = study.factor[name]
    if factor.kind is not None:
        return factor.kind
    by_name = BY_NAME if study.run.workload is not None else OF_COMMANDS
    if name in by_name:
        return name
    return "set" if study.run.workload is not None else "placeholder"


def setup(study: StudyDefinition, levels: Mapping[str, Level]) -> Setup:
    """`levels` has one of every factor."""
    run = study.run
    of_kind: dict[str, dict[str, Level]] = {}
    for name, level in levels.items():
        of_kind.setdefault(kind(study, name), {})[name] = level

    def single(what: str) -> Any:
        """Of the type that `Setup` wants: problems.py has checked the levels, the model the run."""
        return next(iter(of_kind.get(what, {}).values()), getattr(run, what, None))

    target = single("target") or _only_target(study)
    # Of methods that are compared each in its own format, as in "collective hdf5".
    method, _, format_ = str(next(iter(of_kind.get("pair", {}).values()), "")).partition(" ")
    nodes, per_node = single("nodes"), single("ranks_per_node")
    ranks = nodes * per_node if nodes and per_node else single("ranks") or nodes or 1
    return Setup(
        levels=dict(levels),
        ranks=ranks,
        nodes=nodes,
        ranks_per_node=per_node or ranks // (nodes or 1),
        threads=single("threads"),
        target=target,
        read_target=single("read_target") or target,
        size=single("size"),
        method=method or single("method"),
        format=format_ or single("format"),
        set=dict(run.set) | of_kind.get("set", {}),
        hints=_pairs(dict(run.hints) | of_kind.get("hint", {})),
        settings=_pairs(dict(run.settings) | of_kind.get("setting", {})),
        cache=single("cache") or study.cache,
    )


def _only_target(study: StudyDefinition) -> str | None:
    return next(iter(study.target)) if len(study.target) == 1 else None


def _pairs(values: Mapping[str, Level]) -> tuple[str, ...]:
    return tuple(f"{key}={as_text(value)}" for key, value in values.items())


def label(factor: FactorDefinition, level: Level) -> str:
    """What people read for a level."""
    return factor.labels[factor.levels.index(level)] if factor.labels else as_text(level)


def placeholders(factors: Mapping[str, FactorDefinition]) -> frozenset[str]:
    """The names that a command's words may use."""
    return frozenset((*ALWAYS, *factors))
