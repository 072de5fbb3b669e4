"""CalculiX's result files, read without CalculiX. They say the same thing twice, so each checks the other: every
displacement and force of every increment stands in the .dat file as a table and in the .frd file in fixed columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# The .frd file has six digits of a number, the .dat file seven.
RELATIVE_TOLERANCE = 2e-5
# Of the load: the residual that CalculiX accepts is 0.5 % of the average force; the reactions then sum to the load.
EQUILIBRIUM_TOLERANCE = 1e-2
NODE_COLUMNS, NUMBER_COLUMNS = slice(3, 13), 12
QUANTITIES = {"displacements": "DISP", "forces": "FORC"}


@dataclass(frozen=True)
class Table:
    """One quantity at one time: vectors by node number."""

    name: str
    nodes: np.ndarray
    values: np.ndarray


def dat_tables(path: Path) -> Iterator[Table]:
    """The displacements and forces of all nodes, in the order of the file."""
    name, rows = "", []
    with path.open(encoding="ascii") as file:
        for line in file:
            words = line.split()
            if not words:
                continue
            if words[0].lstrip("-").isdigit():
                if name:
                    rows.append(words)
                continue
            if name:
                yield _table(QUANTITIES[name], rows)
            name, rows = (words[0] if words[0] in QUANTITIES else ""), []
    if name:
        yield _table(QUANTITIES[name], rows)


def _table(name: str, rows: list[list[str]]) -> Table:
    numbers = np.array(rows, dtype=np.float64)
    return Table(name, numbers[:, 0].astype(np.int64), numbers[:, 1:4])


def frd_tables(path: Path) -> Iterator[Table]:
    name, nodes, values = "", [], []
    with path.open(encoding="ascii") as file:
        for line in file:
            key = line[:3]
            if key == " -4":
                name, nodes, values = line.split()[1], [], []
            elif key == " -3":
                if name in QUANTITIES.values():
                    yield Table(name, np.array(nodes), np.array(values))
                name = ""
            elif key == " -1" and name in QUANTITIES.values():
                nodes.append(int(line[NODE_COLUMNS]))
                values.append([float(line[13 + 12 * n : 13 + 12 * (n + 1)]) for n in range(3)])


def finished_increments(path: Path) -> int:
    """How many increments the .sta file says are done: a line of numbers each."""
    lines = path.read_text("ascii", "replace").splitlines() if path.is_file() else []
    return sum(1 for line in lines if (words := line.split()) and words[0].isdigit())


def problems(stem: Path, nodes: int, written: int, load_n: float) -> Iterator[tuple[str, str]]:
    """What is wrong in the results, as file and sentence: an element that is missing or that the files do not agree on,
    or reactions that do not carry the load.
    """
    dat = list(dat_tables(stem.with_suffix(".dat")))
    frd = list(frd_tables(stem.with_suffix(".frd")))
    for name in QUANTITIES.values():
        mine, other = ([table for table in tables if table.name == name] for tables in (dat, frd))
        for suffix, tables in ((".dat", mine), (".frd", other)):
            if len(tables) != written:
                yield stem.name + suffix, f"{name} is there {len(tables)} times, and should be {written} times"
        for number, (one, two) in enumerate(zip(mine, other, strict=False), 1):
            yield from ((stem.name, f"{name}, output {number}: {text}") for text in _disagreements(one, two, nodes))
    reactions = [table for table in dat if table.name == "FORC"]
    if reactions and not np.isclose(reactions[-1].values[:, 2].sum(), 0, atol=EQUILIBRIUM_TOLERANCE * load_n):
        yield f"{stem.name}.dat", f"the forces on all nodes sum to {reactions[-1].values[:, 2].sum():.4g} N, not to 0"


def _disagreements(one: Table, two: Table, nodes: int) -> Iterator[str]:
    if len(one.nodes) != nodes or not np.array_equal(one.nodes, two.nodes):
        yield f"{len(one.nodes)} and {len(two.nodes)} nodes, and there are {nodes}"
        return
    near = np.isclose(one.values, two.values, rtol=RELATIVE_TOLERANCE, atol=1e-5 * np.abs(one.values).max())
    if not near.all():
        node, axis = np.argwhere(~near)[0]
        yield (
            f"node {one.nodes[node]}, component {axis + 1}: {one.values[node, axis]:g} in the .dat file,"
            f" {two.values[node, axis]:g} in the .frd file ({(~near).sum()} such)"
        )
