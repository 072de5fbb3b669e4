"""What a study file may say: one model per table, strictly typed.
docs/reference/studies.md explains the keys."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    StringConstraints,
    field_validator,
    model_validator,
)

from tailrace.study.definition.placeholders import as_text

SCHEMA = 1
Level = str | int | float | bool
PositiveNumber = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Cache = Literal["cold", "warm", "as-is"]
# One or several words for each level.
Arguments = list[str | list[str]]
# A factor becomes a column, a placeholder and an argument of a query.
FactorName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=60)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=60)]


class DefinitionTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RunDefinition(DefinitionTable):
    """What is run: a workload of `tailrace bench`, or a command of the user's."""

    workload: str | None = None
    command: Annotated[list[str], Field(min_length=1)] | str | None = None
    shell: bool = False
    launcher: Annotated[str, StringConstraints(min_length=1)] = "mpiexec"
    ranks: PositiveInt | None = None
    nodes: PositiveInt | None = None
    ranks_per_node: PositiveInt | None = None
    hosts: list[Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]] = []
    threads: PositiveInt = 1
    size: Name | None = None
    method: str | None = None
    format: str | None = None
    target: Name | None = None
    read_target: Name | None = None
    set: dict[str, object] = {}
    hints: dict[str, Level] = {}
    settings: dict[str, Level] = {}
    environment: dict[str, str] = {}
    working_directory: str | None = None
    capture: bool = False
    verify: bool = True
    time_limit_s: PositiveNumber = 3600.0
    output_pattern: str | list[str] = []
    expected_files: list[str] = []
    reads: list[str] = []
    step_seconds: Annotated[float, Field(ge=0, le=1e9)] | None = None

    @field_validator("output_pattern")
    @classmethod
    def _compiles(cls, value: str | list[str]) -> str | list[str]:
        for pattern in [value] if isinstance(value, str) else value:
            try:
                named = re.compile(pattern).groupindex
            except re.error as error:
                raise ValueError(f"is not a valid regular expression: {error}") from None
            if not named:
                raise ValueError("has no named group: write (?P<name>…) around a number")
        return value

    @property
    def patterns(self) -> list[str]:
        return (
            [self.output_pattern] if isinstance(self.output_pattern, str) else self.output_pattern
        )


class Slurm(DefinitionTable):
    """One batch job per block, in which `srun` starts the ranks. `options` are sbatch's."""

    options: list[str] = []
    poll_s: PositiveNumber = 2.0


class FactorDefinition(DefinitionTable):
    levels: Annotated[list[Level], Field(min_length=1)]
    kind: (
        Literal[
            "target",
            "read_target",
            "ranks",
            "nodes",
            "ranks_per_node",
            "threads",
            "cache",
            "size",
            "method",
            "format",
            "pair",
            "hint",
            "setting",
            "set",
            "placeholder",
        ]
        | None
    ) = None
    unit: str = ""
    labels: list[str] = []
    arguments: Arguments | dict[str, Arguments] = []
    by: str | None = None

    def words(self, levels: Mapping[str, Level], level: Level) -> list[str]:
        """What a command gets for this level, in a run of these levels."""
        place = self.levels.index(level)
        given = self.arguments
        if isinstance(given, dict):
            given = given.get(as_text(levels[self.by or ""]), [])
        if not given:
            return [as_text(level)]
        found = given[place]
        return [found] if isinstance(found, str) else list(found)


class Fraction(DefinitionTable):
    """Of all combinations of the factors of two levels, a fraction: main effects are then mixed up
    with interactions of `resolution` − 1 factors at the fewest. `screening`: Plackett and Burman's,
    of the fewest runs, in which each interaction of two is mixed up with all other factors a bit.
    """

    resolution: Annotated[int, Field(ge=3, le=6)] = 4
    screening: bool = False
    factors: list[str] = []


class LeaveOut(DefinitionTable):
    """Combinations that are not run: those in which all of `when` is so."""

    when: Annotated[dict[str, Level | list[Level]], Field(min_length=1)]
    because: str = ""


class Target(DefinitionTable):
    """A directory on some file system, and what is known about it; or the model on which runs are
    simulated instead."""

    directory: Annotated[str, StringConstraints(min_length=1)] | None = None
    testbed: Name | None = None
    simulate: Annotated[str, StringConstraints(min_length=1)] | None = None
    ranks_per_node: PositiveInt | None = None
    description: str = ""
    nodes: PositiveInt | None = None
    servers: PositiveInt | None = None
    rate_mb_per_s: PositiveNumber | None = None
    control: bool = False


class ResponseDefinition(DefinitionTable):
    """What a number is that the user's program prints. Without `better` nothing beats anything in
    it."""

    words: str = ""
    unit: str | None = None
    better: Literal["more", "less"] | None = None


class Adaptive(DefinitionTable):
    """Further blocks until every combination's interval is narrow enough, or a bound is met."""

    interval: PositiveNumber = 0.05
    at_most: PositiveInt = 10
    budget_s: PositiveNumber | None = None


class Turn(DefinitionTable):
    """A level of a factor at which something changes."""

    factor: str
    level: Level
    within: PositiveNumber = 0.1


class Faster(DefinitionTable):
    factor: str
    level: Level
    than: Level
    by: PositiveNumber = 1.0


class Matters(DefinitionTable):
    factor: str
    within: PositiveNumber = 0.05


class ShareOf(DefinitionTable):
    of: str
    low: Share
    high: Share


class Scales(DefinitionTable):
    """The exponent of a power law lies between these."""

    factor: str
    exponent_at_least: float | None = None
    exponent_at_most: float | None = None

    @model_validator(mode="after")
    def _has_an_end(self) -> "Scales":
        if self.exponent_at_least is None and self.exponent_at_most is None:
            raise ValueError("needs exponent_at_least or exponent_at_most, or both")
        return self


class MattersMore(DefinitionTable):
    """What `level` of a factor does against `to`, as a ratio, is more where `with` is so than where
    `than` is."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    factor: str
    with_: Annotated[dict[str, Level], Field(alias="with", min_length=1)]
    than: Annotated[dict[str, Level], Field(min_length=1)]
    level: Level | None = None
    to: Level | None = None


class Expect(DefinitionTable):
    """What the study's document found, as a comparison that the report checks. `everywhere`: in
    each place, rather than on their average. `ours`: it is not in the document."""

    claim: str
    paper_value: str = ""
    ours: bool = False
    where: dict[str, Level | list[Level]] = {}
    everywhere: bool = False
    response: str | None = None
    rises_beyond: Turn | None = None
    falls_until: Turn | None = None
    flat_beyond: Turn | None = None
    faster: Faster | None = None
    matters: Matters | None = None
    does_not_matter: Matters | None = None
    matters_more: MattersMore | None = None
    share: ShareOf | None = None
    scales: Scales | None = None

    @property
    def given(self) -> dict[str, DefinitionTable]:
        return {kind: table for kind in EXPECTATIONS if (table := getattr(self, kind)) is not None}

    @property
    def named(self) -> dict[str, list[Level]]:
        """All levels that it speaks of, by factor."""
        found = self.needed
        for name, wanted in self.where.items():
            if isinstance(wanted, list):
                found[name] = [*wanted, *found.get(name, [])]
        return found

    @property
    def needed(self) -> dict[str, list[Level]]:
        """Those without which it says nothing: all but lists of places, of which some will do."""
        found = {
            name: [wanted] for name, wanted in self.where.items() if not isinstance(wanted, list)
        }
        for table in self.given.values():
            if (name := getattr(table, "factor", None)) is not None:
                levels = [getattr(table, key, None) for key in ("level", "than", "to")]
                plain = [level for level in levels if isinstance(level, str | int | float | bool)]
                found.setdefault(name, []).extend(plain)
        if self.matters_more is not None:
            for condition in (self.matters_more.with_, self.matters_more.than):
                for name, level in condition.items():
                    found.setdefault(name, []).append(level)
        return found


EXPECTATIONS = (
    *("rises_beyond", "falls_until", "flat_beyond", "faster"),
    *("matters", "does_not_matter", "matters_more", "share", "scales"),
)


class StudyDefinition(DefinitionTable):
    """A whole file. `size` holds, by name, what a size changes anywhere else."""

    study_schema: Literal[1] = Field(alias="schema")
    name: Name
    description: str
    paper: str = ""
    from_paper: list[str] = []
    assumed: list[str] = []
    response: str = "elapsed_s"
    responses: dict[str, ResponseDefinition] = {}
    run: RunDefinition
    slurm: Slurm | None = None
    factor: Annotated[dict[FactorName, FactorDefinition], Field(min_length=1)]
    fraction: Fraction | None = None
    leave_out: list[LeaveOut] = []
    target: dict[Name, Target] = {}
    repetitions: PositiveInt = 3
    warm_up: NonNegativeInt = 0
    blocks_at_once: PositiveInt = 1
    adaptive: Adaptive | None = None
    cache: Cache = "as-is"
    default_size: Name | None = None
    size: dict[Name, dict[str, object]] = {}
    expect: list[Expect] = []
