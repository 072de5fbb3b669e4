"""Small inputs for simulation programs, a few seconds each."""

from __future__ import annotations

import math
from pathlib import Path

LAMMPS = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
dump 1 all atom 1 dump.lammpstrj
thermo 20
run 40
"""

ESPRESSO = """
&control
  calculation = 'scf', prefix = 'al', outdir = './out', disk_io = 'high'
/
&system
  ibrav = 2, celldm(1) = 7.5, nat = 1, ntyp = 1, ecutwfc = 15,
  occupations = 'smearing', smearing = 'mp', degauss = 0.05
/
&electrons
/
ATOMIC_SPECIES
Al 26.98 Al.pz-vbc.UPF
ATOMIC_POSITIONS alat
Al 0 0 0
K_POINTS automatic
3 3 3 1 1 1
"""

# 60 points of the charge density a side, of which pp.x makes text twice.
ESPRESSO_DENSE = (
    ESPRESSO.replace("ecutwfc = 15", "ecutwfc = 15, ecutrho = 1200")
    .replace("3 3 3 1 1 1", "1 1 1 0 0 0")
    .replace("disk_io = 'high'", "disk_io = 'low'")
)
ESPRESSO_DENSITY = """
&inputpp
  prefix = 'al', outdir = './out', filplot = 'rho', plot_num = 0
/
&plot
  iflag = 3, output_format = 6, fileout = 'rho.cube'
/
"""

GROMACS_RUN = """
integrator = md
dt = 0.002
nsteps = {steps}
nstxout = 1
nstvout = 1
nstenergy = 10
nstlog = 100
cutoff-scheme = Verlet
coulombtype = Cut-off
rcoulomb = 1.0
rvdw = 1.0
tcoupl = no
gen-vel = yes
gen-temp = 90
gen-seed = 7
"""

GROMACS_TOPOLOGY = """
[ defaults ]
1 2 no 1.0 1.0
[ atomtypes ]
AR 18 39.948 0.0 A 0.3405 0.9960
[ moleculetype ]
Argon 1
[ atoms ]
1 AR 1 AR AR 1 0.0 39.948
[ system ]
argon
[ molecules ]
Argon {number}
"""

HEAD = "FoamFile {{ version 2.0; format ascii; class {kind}; object {name}; }}\n"
FOAM = {
    "system/controlDict": (
        "dictionary",
        "application icoFoam; startFrom startTime; startTime 0; stopAt endTime; endTime 0.05;"
        " deltaT 0.005; writeControl timeStep; writeInterval 1; purgeWrite 0; writeFormat ascii;"
        " writePrecision 6; writeCompression off; timeFormat general; timePrecision 6;"
        " runTimeModifiable false;",
    ),
    "system/fvSchemes": (
        "dictionary",
        "ddtSchemes { default Euler; } gradSchemes { default Gauss linear; }"
        " divSchemes { default none; div(phi,U) Gauss linear; }"
        " laplacianSchemes { default Gauss linear orthogonal; }"
        " interpolationSchemes { default linear; } snGradSchemes { default orthogonal; }",
    ),
    "system/fvSolution": (
        "dictionary",
        "solvers { p { solver PCG; preconditioner DIC; tolerance 1e-6; relTol 0.05; }"
        " pFinal { $p; relTol 0; }"
        " U { solver smoothSolver; smoother symGaussSeidel; tolerance 1e-5; relTol 0; } }"
        " PISO { nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }",
    ),
    "system/decomposeParDict": (
        "dictionary",
        "numberOfSubdomains 2; method simple; coeffs { n (2 1 1); }",
    ),
    "system/blockMeshDict": (
        "dictionary",
        "scale 0.1; vertices ((0 0 0) (1 0 0) (1 1 0) (0 1 0)"
        " (0 0 0.1) (1 0 0.1) (1 1 0.1) (0 1 0.1));"
        " blocks (hex (0 1 2 3 4 5 6 7) (20 20 1) simpleGrading (1 1 1)); edges ();"
        " boundary ( lid { type wall; faces ((3 7 6 2)); }"
        " walls { type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0)); }"
        " sides { type empty; faces ((0 3 2 1) (4 5 6 7)); } );",
    ),
    "constant/transportProperties": ("dictionary", "nu 0.01;"),
    "0/p": (
        "volScalarField",
        "dimensions [0 2 -2 0 0 0 0]; internalField uniform 0; boundaryField {"
        " lid { type zeroGradient; } walls { type zeroGradient; } sides { type empty; } }",
    ),
    "0/U": (
        "volVectorField",
        "dimensions [0 1 -1 0 0 0 0]; internalField uniform (0 0 0); boundaryField {"
        " lid { type fixedValue; value uniform (1 0 0); } walls { type noSlip; }"
        " sides { type empty; } }",
    ),
}


def lammps(work: Path) -> None:
    (work / "in.lj").write_text(LAMMPS)


def espresso(work: Path) -> None:
    (work / "al.in").write_text(ESPRESSO)


def openfoam(work: Path) -> None:
    for name, (kind, text) in FOAM.items():
        path = work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD.format(kind=kind, name=path.name) + text + "\n")


def gromacs(work: Path, edge: int = 7, steps: int = 100, distance_nm: float = 0.39) -> None:
    """Argon on a grid, a little off it so that the forces are not all zero."""
    places = [(x, y, z) for x in range(edge) for y in range(edge) for z in range(edge)]
    lines = ["argon", str(len(places))]
    for number, place in enumerate(places, 1):
        at = [distance_nm * k + 0.02 * math.sin(number * (k + 1)) for k in place]
        position = "".join(f"{value:8.3f}" for value in at)
        lines.append(f"{number % 100000:5d}AR      AR{number % 100000:5d}{position}")
    lines.append(" ".join(3 * [f"{edge * distance_nm:.5f}"]))
    (work / "start.gro").write_text("\n".join([*lines, ""]))
    (work / "run.mdp").write_text(GROMACS_RUN.format(steps=steps))
    (work / "top.top").write_text(GROMACS_TOPOLOGY.format(number=len(places)))


def calculix(work: Path, length: int = 8, steps: int = 15) -> None:
    """A beam of bricks, clamped at one end and loaded at the other; all of it printed each step."""
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    corners += [(x, y, 1) for x, y, _ in corners]
    places = [(x, y, z) for x in range(length + 1) for y in range(4) for z in range(4)]
    number = {place: index for index, place in enumerate(places, 1)}
    lines = ["*NODE,NSET=ALL", *(f"{number[p]},{p[0]},{p[1]},{p[2]}" for p in places)]
    lines.append("*ELEMENT,TYPE=C3D8,ELSET=BEAM")
    bricks = [(x, y, z) for x in range(length) for y in range(3) for z in range(3)]
    for index, (x, y, z) in enumerate(bricks, 1):
        nodes = [number[x + a, y + b, z + c] for a, b, c in corners]
        lines.append(",".join(map(str, [index, *nodes])))
    clamped = ",".join(str(number[0, y, z]) for y in range(4) for z in range(4))
    lines += ["*NSET,NSET=FIX", clamped, "*MATERIAL,NAME=STEEL", "*ELASTIC", "210000,0.3"]
    lines += ["*SOLID SECTION,ELSET=BEAM,MATERIAL=STEEL", "*BOUNDARY", "FIX,1,3"]
    for step in range(steps):
        load = f"{number[length, 3, 3]},3,{10 * (step + 1)}"
        lines += ["*STEP", "*STATIC", "*CLOAD", load, "*NODE FILE", "U"]
        lines += ["*EL PRINT,ELSET=BEAM", "S", "*NODE PRINT,NSET=ALL", "U", "*END STEP"]
    (work / "beam.inp").write_text("\n".join([*lines, ""]))
