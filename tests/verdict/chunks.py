"""Computes, and writes a data set of HDF5 as chunks.c does, or reads one five times: chunks.py KIND
FILE. Prints for how long it was in the calls that do it, s."""

import sys
import time

import h5py
import numpy

kind, path = sys.argv[1:]
field = numpy.random.default_rng(1).integers(1000, size=2_000_000) / 1000
until = time.perf_counter() + 0.3
while time.perf_counter() < until:
    pass
ways = {"deflate": {"chunks": field.shape, "compression": "gzip", "compression_opts": 6}}
ways |= {"lzf": {"chunks": field.shape, "compression": "lzf"}}
ways |= {"chunked": {"chunks": field.shape}, "contiguous": {}}
with h5py.File(path, "r" if kind == "read" else "w") as file:
    begin = time.perf_counter()
    if kind == "read":
        assert all((file["field"][...] == field).all() for _ in range(5))
    else:
        file.create_dataset("field", data=field, **ways[kind])
        file.flush()
    print(time.perf_counter() - begin)
