"""CalculiX's result files, read without CalculiX. They say the same thing twice, so each checks the
other: every displacement and force of every increment stands in the .dat file as a table and in the
.frd file in fixed columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# The .frd file has six digits of a number, the .dat file seven.
RELATIVE_TOLERANCE = 2e-5
# Of the load: the residual that CalculiX accepts is 0.5 % of the average force; the reactions then
# sum to the load.
EQUILIBRIUM_TOLERANCE = 1e-2
# Of a line of the .frd file: the node, and its three numbers of twelve characters each.
NODE_COLUMNS = slice(3, 13)
NUMBER_COLUMNS = tuple(slice(13 + 12 * n, 25 + 12 * n) for n in range(3))
QUANTITIES = {"displacements": "DISP", "forces": "FORC"}


@dataclass(frozen=True)
class Quantity:
    """A quantity of the model at one time: vectors by node number."""

    name: str
    nodes: np.ndarray
    values: np.ndarray


def dat_quantities(path: Path) -> Iterator[Quantity]:
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
                yield _quantity(QUANTITIES[name], rows)
            name, rows = (words[0] if words[0] in QUANTITIES else ""), []
    if name:
        yield _quantity(QUANTITIES[name], rows)


def _quantity(name: str, rows: list[list[str]]) -> Quantity:
    numbers = np.array(rows, dtype=np.float64)
    return Quantity(name, numbers[:, 0].astype(np.int64), numbers[:, 1:4])


def frd_quantities(path: Path) -> Iterator[Quantity]:
    name = ""
    nodes: list[int] = []
    values: list[list[float]] = []
    with path.open(encoding="ascii") as file:
        for line in file:
            key = line[:3]
            if key == " -4":
                name, nodes, values = line.split()[1], [], []
            elif key == " -3":
                if name in QUANTITIES.values():
                    yield Quantity(name, np.array(nodes), np.array(values))
                name = ""
            elif key == " -1" and name in QUANTITIES.values():
                nodes.append(int(line[NODE_COLUMNS]))
                values.append([float(line[columns]) for columns in NUMBER_COLUMNS])


def finished_increments(path: Path) -> int:
    """How many increments the .sta file says are done: a line of numbers each."""
    lines = path.read_text("ascii", "replace").splitlines() if path.is_file() else []
    return sum(1 for line in lines if (words := line.split()) and words[0].isdigit())


def problems(stem: Path, nodes: int, written: int, load_n: float) -> Iterator[tuple[str, str]]:
    """What is wrong in the results, as file and sentence: an element that is missing or that the
    files do not agree on, or reactions that do not carry the load.
    """
    dat = list(dat_quantities(stem.with_suffix(".dat")))
    frd = list(frd_quantities(stem.with_suffix(".frd")))
    for name in QUANTITIES.values():
        in_dat, in_frd = (
            [quantity for quantity in found if quantity.name == name] for found in (dat, frd)
        )
        for suffix, found in ((".dat", in_dat), (".frd", in_frd)):
            if len(found) != written:
                yield (
                    stem.name + suffix,
                    f"{name} is there {len(found)} times instead of {written}",
                )
        for number, pair in enumerate(zip(in_dat, in_frd, strict=False), 1):
            yield from (
                (stem.name, f"{name}, output {number}: {text}")
                for text in _disagreements(*pair, nodes)
            )
    forces = [quantity.values[:, 2].sum() for quantity in dat if quantity.name == "FORC"]
    if forces and not np.isclose(forces[-1], 0, atol=EQUILIBRIUM_TOLERANCE * load_n):
        yield (
            f"{stem.name}.dat",
            f"the forces on all nodes sum to {forces[-1]:.4g} N, not to 0",
        )


def _disagreements(dat: Quantity, frd: Quantity, nodes: int) -> Iterator[str]:
    if len(dat.nodes) != nodes or not np.array_equal(dat.nodes, frd.nodes):
        yield f"{len(dat.nodes)} and {len(frd.nodes)} nodes instead of {nodes}"
        return
    near = np.isclose(
        dat.values, frd.values, rtol=RELATIVE_TOLERANCE, atol=1e-5 * np.abs(dat.values).max()
    )
    if not near.all():
        node, axis = np.argwhere(~near)[0]
        yield (
            f"node {dat.nodes[node]}, component {axis + 1}: {dat.values[node, axis]:g} in the .dat"
            f" file, {frd.values[node, axis]:g} in the .frd file ({(~near).sum()} such)"
        )
