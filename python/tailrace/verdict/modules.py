"""Files that Python looks for when it imports: the interpreter's, and no data of the program."""

import re
from itertools import takewhile

import numpy as np

from tailrace.names import base_name
from tailrace.units import count
from tailrace.verdict.cause import CAUSE_SHARE, Cause, part_of_io
from tailrace.verdict.evidence import Evidence, Kind
from tailrace.verdict.requests import METADATA_KINDS, Use, sum_use

# Of `python -m`.
FOR_DATA = (["compileall"], ["py_compile"], ["zipapp"])
_PYTHON = re.compile("python|pypy", re.IGNORECASE)
_MODULE = re.compile(
    rb"\.pyc?$|/__pycache__/|/(site|dist)-packages(/|$)|/lib/python3[^/]*(/|$)|/pyvenv\.cfg$"
)
# With nearly all of the calls so much of the time is enough, if no other file has as much: it is
# half of it but for a look-up or two that took long.
MOST_CALLS = 0.9
NEARLY_HALF = 0.4


def are_modules(evidence: Evidence) -> np.ndarray:
    """For each file whether Python looks for it when it imports. Other programs that come to such
    files, as tar does, come to them as to any others."""
    paths = evidence.files["path"]
    if not is_python(evidence) or _takes_modules_for_data(evidence):
        return np.zeros(len(paths), dtype=bool)
    modules = np.asarray([bool(_MODULE.search(bytes(path))) for path in paths], dtype=bool)
    return modules & ~_are_installed(evidence)


def is_python(evidence: Evidence) -> bool:
    meta = evidence.columns["meta"]
    return bool(_PYTHON.search(base_name(meta.get("exe") or meta.get("program", ""))))


def _takes_modules_for_data(evidence: Evidence) -> bool:
    """Whether the program is one that comes with Python to compile or pack sources."""
    words = evidence.columns["meta"].get("command", "").split("\x1f")
    options = list(takewhile(lambda word: word.startswith("-"), words[1:]))
    return options[-1:] == ["-m"] and words[len(options) + 1 :][:1] in FOR_DATA


def _are_installed(evidence: Evidence) -> np.ndarray:
    """For each file whether it lies where the program writes sources of modules, as pip does, and
    their compiled forms beside them."""
    written = np.asarray(evidence.files["bytes_written"]) > 0
    paths = [bytes(path) for path in evidence.files["path"]]
    sources = [path for path, wrote in zip(paths, written, strict=True) if wrote]
    folders = {_folder_of(path) for path in sources if path.endswith(b".py")}
    return np.asarray([_folder_of(path) in folders for path in paths], dtype=bool)


def _folder_of(path: bytes) -> bytes:
    return path.rpartition(b"/")[0].removesuffix(b"/__pycache__")


def imports(evidence: Evidence) -> Cause | None:
    """Looking for Python's modules and opening them, where that has most of the time in names."""
    rows = np.flatnonzero(are_modules(evidence))
    modules = sum_use(evidence.files, rows)
    if not len(rows) or not _are_most(evidence, rows, modules):
        return None
    spent, calls = modules.time_ns(*METADATA_KINDS), modules.calls("open", "look_up")
    text = f"{calls:,} opens and look-ups for Python's modules {part_of_io(evidence, spent)}"
    facts = f"{len(rows):,} paths of modules and libraries on {count(evidence.ranks, 'rank')}"
    return Cause(Kind.MANY_FILES, text, facts, advised="python")


def _are_most(evidence: Evidence, rows: np.ndarray, modules: Use) -> bool:
    """By time, or nearly so, and by calls."""
    files, use = evidence.files, evidence.use
    spent, whole = modules.time_ns(*METADATA_KINDS), use.time_ns(*METADATA_KINDS)
    if spent >= CAUSE_SHARE * whole:
        return True
    times = np.sum([np.asarray(files[f"{kind}_ns"]) for kind in METADATA_KINDS], axis=0)
    longest = int(np.delete(times, rows).max(initial=0))
    most = modules.calls(*METADATA_KINDS) >= MOST_CALLS * use.calls(*METADATA_KINDS)
    return most and spent >= max(NEARLY_HALF * whole, longest)
