"""What a workload file may say: one model per table, strictly typed. docs/workloads.md explains the keys, and
kernels/README.md the plan that they become.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, StringConstraints

METHODS = ("serial", "collective", "independent", "aggregated", "file-per-rank")
FORMATS = ("posix", "mpiio", "hdf5", "netcdf4", "netcdf3", "pnetcdf", "cgns")
PROGRAMS = ("solver", "btio", "zones", "transfers", "calculix")
# gridio.h: GRIDIO_DIMENSIONS, and internal.h: GRIDIO_VARIABLES_AT_MOST
DIMENSIONS_AT_MOST, VARIABLES_AT_MOST = 4, 1024

Method = Literal["serial", "collective", "independent", "aggregated", "file-per-rank"]
Format = Literal["posix", "mpiio", "hdf5", "netcdf4", "netcdf3", "pnetcdf", "cgns"]
NonNegative = Annotated[int, Field(ge=0)]
PositiveNumber = Annotated[float, Field(gt=0)]
Cells = Annotated[list[PositiveInt], Field(min_length=3, max_length=3)]
Tiles = Annotated[list[PositiveInt], Field(min_length=2, max_length=2)]
# Names become names of files and in files, and words in a plan.
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=60)]
Pattern = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]([A-Za-z0-9_.-]|\{n\})*$", max_length=60)]
Units = Annotated[str, StringConstraints(pattern=r"^[!-~]+$", max_length=60)]
Extent = Annotated[str, StringConstraints(pattern=r"^([xyz](\+1)?|[A-Za-z][A-Za-z0-9_]*=[1-9][0-9]*)$")]
Source = Annotated[
    str,
    StringConstraints(
        pattern=r"^((tracer|derived|column|place|forcing):(\d+|\{n\})|level|step|time|date"
        r"|switch:(true|false)|number:-?[0-9.]+([eE][-+]?[0-9]+)?)$"
    ),
]
Role = Annotated[str, StringConstraints(pattern=r"^(none|wind_x|wind_y|temperature|logical|emission:(\d+|\{n\}))$")]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Variable(Table):
    """One, or several of a kind: `count` of them with numbers in their names, or those that `names` lists."""

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


class Input(Table):
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


class Solver(Table):
    grid: Cells
    tiles: Tiles | None = None
    steps: PositiveInt
    step_s: PositiveInt = 300
    tracers: PositiveInt = 2
    work: NonNegative = 0
    every: PositiveInt = 1


class Btio(Table):
    points: PositiveInt
    steps: PositiveInt = 200
    every: PositiveInt = 5
    work: PositiveInt = 1
    mode: Literal["full", "simple", "epio", "gridio"] | None = None
    read: bool = True


class Zones(Table):
    points: PositiveInt
    operation: Literal["write", "read"] = "write"
    fields: NonNegative = 1
    type: Literal["float32", "float64"] = "float64"
    interface: Literal["cgp", "gridio"] | None = None
    iterations: PositiveInt = 1


class Transfers(Table):
    file_bytes: PositiveInt
    transfer_bytes: PositiveInt = 1048576
    block_bytes: PositiveInt = 131072
    pattern: Literal["contiguous", "interleaved"] = "interleaved"
    operations: Annotated[list[Literal["write", "read"]], Field(min_length=1)] = ["write", "read"]
    iterations: PositiveInt = 5


class Calculix(Table):
    elements: Cells
    element: Literal["C3D8", "C3D20R"] = "C3D8"
    increments: PositiveInt = 1
    frequency: PositiveInt = 1


Parameters = Solver | Btio | Zones | Transfers | Calculix


class Workload(Table):
    """A whole file. `size` holds, by name, what a size changes in the program's own table."""

    name: Name
    description: str
    program: Literal["solver", "btio", "zones", "transfers", "calculix"]
    seed: str = ""
    from_seed: list[str] = []
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
