"""Fields of a model into a netCDF file, step by step, and brought to the disk: grids.py FOLDER."""

import sys
from pathlib import Path

import netCDF4
import numpy as np

STEPS, LEVELS, SIDE = 20, 10, 128

with netCDF4.Dataset(Path(sys.argv[1], "fields.nc"), "w") as dataset:
    dataset.createDimension("time", None)
    for name, size in (("z", LEVELS), ("y", SIDE), ("x", SIDE)):
        dataset.createDimension(name, size)
    names = ("time", "z", "y", "x")
    fields = [dataset.createVariable(name, "f4", names) for name in ("u", "v", "t", "q")]
    values = np.random.default_rng(1).random((LEVELS, SIDE, SIDE), np.float32)
    for step in range(STEPS):
        for field in fields:
            field[step] = values + step
        dataset.sync()
