"""The library that a file is used through: by what stands on the way of its calls, else by its name
and the layers seen. Models call their files wrfout_d01 or restart.0001 as often as history.nc."""

import re
from typing import Any

import numpy as np

from tailrace.names import base_name
from tailrace.verdict.requests import KINDS

_NETCDF = (".nc", ".nc4", ".cdf", ".netcdf")
_HDF5 = (".h5", ".hdf5", ".hdf", ".cgns", ".he5")
_SQLITE = (".sqlite", ".sqlite3", ".gpkg")
_DUCKDB = (".duckdb", ".duckdb.wal")
_LMDB = ("data.mdb", "lock.mdb")
# LevelDB's alike.
_ROCKSDB = re.compile(r"\d{6}\.(log|sst|ldb|dbtmp|blob)|(manifest|options)-\d{6}(\.dbtmp)?")
# Of a database whose changes go to a log first (PRAGMA journal_mode=WAL).
SQLITE_LOG = "sqlite, log"

# By such functions they are known where they are linked statically.
OF_HDF5 = re.compile("H5[A-Z]{1,2}(_|[a-z])")
OF_NETCDF = re.compile("nc_(create|open|enddef|close|sync|(put|get)_)")
# By library: how its file's name begins, and its functions, where it is linked statically.
_ON_THE_WAY: dict[str, tuple[str | tuple[str, ...], re.Pattern[str]]] = {
    "pnetcdf": ("libpnetcdf", re.compile("ncmpio?_")),
    "netcdf": ("libnetcdf", OF_NETCDF),
    "hdf5": ("libhdf5", OF_HDF5),
    "sqlite": ("libsqlite3", re.compile("sqlite3(_|[A-Z])")),
    "lmdb": ("liblmdb", re.compile("mdb_(txn|put|cursor|env|get)")),
    "rocksdb": ("librocksdb", re.compile("rocksdb::|_ZNK?7rocksdb")),
    "duckdb": (("libduckdb", "_duckdb"), re.compile("duckdb::|_ZNK?6duckdb")),
    "petsc": ("libpetsc", re.compile("Petsc(Viewer|Binary|FOpen|F?Printf|VFPrintf|Synchronized)")),
}
# Also calls functions of the program, for a monitor or a residual: what these do is none of its.
_CALLS_BACK = ("petsc",)
_C_LIBRARY = ("libc.so", "libc-")
# What names end with whose bytes are packed, so that they are made by packing and no text.
_PACKED = (
    *(".gz", ".tgz", ".bz2", ".xz", ".txz", ".zst", ".tzst", ".lz4", ".br", ".zip", ".7z", ".jar"),
    *(".npz", ".parquet", ".feather", ".orc", ".avro", ".bam", ".cram", ".xlsx", ".ods", ".docx"),
    *(".rds", ".rda", ".rdata"),  # of R
    *(".png", ".gif", ".jpg", ".jpeg", ".webp", ".flac", ".mp3", ".m4a", ".ogg", ".opus"),
    *(".mp4", ".mov", ".mkv", ".webm"),
)
# Molecules' paths, packed too: who writes them, as GROMACS does, computes a step before each.
_OF_STEPS = (".xtc", ".tng")
_PICKLED = (".pkl", ".pickle")
_TEXT = (
    *(".txt", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".geojson"),
    *(".xml", ".yaml", ".yml", ".html", ".svg", ".md"),
)


def library_of(path: bytes | str, layer: str, mpiio_ns: int) -> str:
    """By the file's name and the layers seen."""
    name = base_name(path).lower()
    if name.endswith(_NETCDF):
        return "netcdf"
    if name.endswith(_HDF5):
        return "hdf5"
    if name.endswith(_SQLITE):
        return "sqlite"
    if name.endswith(_DUCKDB):
        return "duckdb"
    if name in _LMDB:
        return "lmdb"
    if _ROCKSDB.fullmatch(name):
        return "rocksdb"
    return "mpiio" if mpiio_ns else layer


def by_log(library: str, paths: Any, file: int) -> str:
    """SQLITE_LOG instead of SQLite where `file`, a row of `paths`, is a database with a log beside
    it, or that log."""
    database = bytes(paths[file]).removesuffix(b"-wal").removesuffix(b"-shm")
    logged = library == "sqlite" and database + b"-wal" in (bytes(path) for path in paths)
    return SQLITE_LOG if logged else library


def content_of(path: bytes | str) -> str:
    """By the file's name: "packed" of an archive, a picture, a film, what molecules did, "pickled"
    of Python's objects; empty of what may be text."""
    name = base_name(path).lower()
    packed = name.endswith((*_PACKED, *_OF_STEPS))
    return "packed" if packed else "pickled" if name.endswith(_PICKLED) else ""


def is_of_steps(path: bytes | str) -> bool:
    """By the file's name."""
    return base_name(path).lower().endswith(_OF_STEPS)


def is_text(path: bytes | str) -> bool:
    """By the file's name."""
    return base_name(path).lower().endswith(_TEXT)


def by_calls(columns: dict[str, Any]) -> dict[int, str]:
    """By file: the library through which most of the time in its calls is spent, where that is
    known."""
    table = columns.get("places")
    if not table or not len(table["file"]):
        return {}
    frames, modules = _of_frames(table["frames"]), list(map(str, table["frames"]["module"]))
    apart = {row for row, module in enumerate(modules) if base_name(module).startswith(_C_LIBRARY)}
    paths = [_library_on(path, frames, apart) for path in table["paths"]]
    time_ns = np.sum([np.asarray(table[f"{kind}_ns"], dtype=np.int64) for kind in KINDS], axis=0)
    spent: dict[int, dict[str, int]] = {}
    for file, path, spent_ns in zip(table["file"], table["path"], time_ns, strict=True):
        by_library = spent.setdefault(int(file), {})
        by_library[paths[path]] = by_library.get(paths[path], 0) + int(spent_ns)
    most = {file: max(times, key=lambda name: times[name]) for file, times in spent.items()}
    return {file: library for file, library in most.items() if file >= 0 and library}


def _of_frames(frames: dict[str, Any]) -> dict[int, str]:
    found = {}
    for row, (function, module) in enumerate(
        zip(map(str, frames["function"]), map(str, frames["module"]), strict=True)
    ):
        for library, (begin, functions) in _ON_THE_WAY.items():
            if base_name(module).startswith(begin) or functions.match(function):
                found[row] = library
                break
    return found


def _library_on(path: list[int], frames: dict[int, str], apart: set[int]) -> str:
    """The one that the program itself calls: netCDF stands on HDF5. One that calls the program back
    only where it makes the file calls itself. `apart`: rows of the C library."""
    found = (frames[row] for row in reversed(path) if row in frames)
    if library := next((name for name in found if name not in _CALLS_BACK), ""):
        return library
    return frames.get(next((row for row in path if row not in apart), -1), "")
