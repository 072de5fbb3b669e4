"""What a workload file may say: one model per table, strictly typed.
docs/reference/workloads.md explains the keys, and kernels/README.md the plan that they become.
"""

from typing import Annotated, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    StringConstraints,
)

from tailrace.bench.gridio import DIMENSIONS_AT_MOST, FORMATS, METHODS

Program = Literal["solver", "btio", "zones", "transfers", "calculix"]
PROGRAMS: tuple[str, ...] = get_args(Program)


def _member(words: tuple[str, ...]) -> AfterValidator:
    """Accepts these words, which are known only at run time, as Literal accepts those of a list."""

    def check(word: str) -> str:
        if word not in words:
            listed = ", ".join(map(repr, words[:-1]))
            raise ValueError(f"Input should be {listed} or {words[-1]!r}")
        return word

    return AfterValidator(check)


Method = Annotated[str, _member(METHODS)]
Format = Annotated[str, _member(FORMATS)]
NonNegative = Annotated[int, Field(ge=0)]
PositiveNumber = Annotated[float, Field(gt=0)]
Cells = Annotated[list[PositiveInt], Field(min_length=3, max_length=3)]
Tiles = Annotated[list[PositiveInt], Field(min_length=2, max_length=2)]
# Names become names of files and in files, and words in a plan.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=60)]
Pattern = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z]([A-Za-z0-9_.-]|\{n\})*$", max_length=60)
]
Units = Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=60)]
Extent = Annotated[
    str, StringConstraints(pattern=r"^([xyz](\+1)?|[A-Za-z][A-Za-z0-9_]*=[1-9][0-9]*)$")
]
Source = Annotated[
    str,
    StringConstraints(
        pattern=r"^((tracer|derived|column|place|forcing):(\d+|\{n\})|level|step|time|date"
        r"|switch:(true|false)|number:-?[0-9.]+([eE][-+]?[0-9]+)?)$"
    ),
]
Role = Annotated[
    str,
    StringConstraints(pattern=r"^(none|wind_x|wind_y|temperature|logical|emission:(\d+|\{n\}))$"),
]


class StrictTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Variable(StrictTable):
    """One, or several of a kind: `count` of them with numbers in their names, or those that `names`
    lists."""

    name: Pattern | None = None
    count: PositiveInt = 1
    listed: list[Name] = Field([], alias="names")
    shape: Annotated[list[Extent], Field(max_length=DIMENSIONS_AT_MOST)] = ["z", "y", "x"]
    dimensions: list[Name] = []
    type: Literal["float64", "float32", "int32", "character"] = "float64"
    units: Units = "1"
    source: Source
    when: Literal["every_step", "once"] = "every_step"
    role: Role = "none"

    @property
    def names(self) -> list[str]:
        if self.name is None:
            return self.listed
        return [self.name.replace("{n}", str(n)) for n in range(1, self.count + 1)]


class Input(StrictTable):
    """A file, or a row of files, that is read at a cadence."""

    name: Name
    every: PositiveInt | None = None
    steps_per_file: NonNegative = 0
    variable: Annotated[list[Variable], Field(min_length=1)]


class Output(Input):
    """One that is written."""

    initial: bool = False
    values: Literal["now", "average"] = "now"
    sync: bool = False


class Solver(StrictTable):
    grid: Cells
    tiles: Tiles | None = None
    steps: PositiveInt
    step_s: PositiveInt = 300
    tracers: PositiveInt = 2
    work: NonNegative = 0
    every: PositiveInt = 1
    switches: Literal["int32", "character"] | None = None
    untiled: bool = True


class Btio(StrictTable):
    points: PositiveInt
    steps: PositiveInt = 200
    every: PositiveInt = 5
    work: PositiveInt = 1
    mode: Literal["full", "simple", "epio", "gridio"] | None = None
    read: bool = True


class Zones(StrictTable):
    points: PositiveInt
    operation: Literal["write", "read"] = "write"
    fields: NonNegative = 1
    type: Literal["float32", "float64"] = "float64"
    interface: Literal["cgp", "gridio"] | None = None
    iterations: PositiveInt = 1


class Transfers(StrictTable):
    file_bytes: PositiveInt
    transfer_bytes: PositiveInt = 1048576
    block_bytes: PositiveInt = 131072
    pattern: Literal["contiguous", "interleaved"] = "interleaved"
    operations: Annotated[list[Literal["write", "read"]], Field(min_length=1)] = ["write", "read"]
    iterations: PositiveInt = 5


class Calculix(StrictTable):
    elements: Cells
    element: Literal["C3D8", "C3D20R"] = "C3D8"
    increments: PositiveInt = 1
    frequency: PositiveInt = 1


Parameters = Solver | Btio | Zones | Transfers | Calculix


class Workload(StrictTable):
    """A whole file. `size` holds, by name, what a size changes in the program's own table."""

    name: Name
    description: str
    program: Program
    paper: str = ""
    from_paper: list[str] = []
    assumed: list[str] = []
    ranks: Literal["any", "square"] = "any"
    methods: Annotated[list[Method], Field(min_length=1)] = list(METHODS)
    formats: Annotated[list[Format], Field(min_length=1)] = list(FORMATS)
    default_size: str
    size: dict[Name, dict[str, object]]
    solver: Solver | None = None
    btio: Btio | None = None
    zones: Zones | None = None
    transfers: Transfers | None = None
    calculix: Calculix | None = None
    output: list[Output] = []
    input: list[Input] = []

    @property
    def parameters(self) -> Parameters:
        """The program's own table."""
        return getattr(self, self.program)
