"""What an executable says about the libraries it needs. Read from its dynamic section; nothing is
run."""

import json
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from tailrace.cache import remembered

MAGIC = b"\x7fELF"
# The sonames by which the MPI families are told apart: MPICH and its relatives, MPICH as Debian has
# it, Open MPI, the standard ABI.
MPI_FAMILIES = {
    "libmpi.so.12": "MPICH",
    "libmpich.so.12": "MPICH",
    "libmpi.so.40": "Open MPI",
    "libmpi_abi.so.1": "MPI standard ABI",
}


class Dynamic(NamedTuple):
    """The dynamic section: needed sonames, search path with $ORIGIN replaced, own soname; empty
    where not ELF."""

    needed: tuple[str, ...] = ()
    search: tuple[Path, ...] = ()
    soname: str = ""


def is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def is_static(path: Path) -> bool:
    """Whether the program asks for no dynamic linker, so that nothing can be loaded into it."""
    return _is("static", path, lambda elf: not any(elf.iter_segments("PT_INTERP")))


def is_of_32_bits(path: Path) -> bool:
    return _is("32 bits", path, lambda elf: bool(elf.elfclass == 32))


def is_of_other_processor(path: Path) -> bool:
    """Whether it is made for another kind of processor than this Python is."""
    return _is("other processor", path, lambda elf: elf["e_machine"] != _machine())


@lru_cache(maxsize=1)
def _machine() -> Any:
    from elftools.elf.elffile import ELFFile

    with Path("/proc/self/exe").open("rb") as file:
        return ELFFile(file)["e_machine"]


def is_of_musl(path: Path) -> bool:
    """Whether musl's dynamic linker loads the program, and with it musl as its C library."""
    return _is("musl", path, lambda elf: any(map(_names_musl, elf.iter_segments("PT_INTERP"))))


def _names_musl(interpreter: Any) -> bool:
    return Path(interpreter.get_interp_name()).name.startswith("ld-musl")


def is_of_go(path: Path) -> bool:
    """Whether Go's linker made the program, which then calls the system without the C library."""
    return _is("go", path, _has_note_of_go)


def _is(fact: str, path: Path, holds: Callable[[Any], bool]) -> bool:
    """Whether the fact holds of an ELF file; remembered until the file changes. False of others."""

    def found() -> str:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile

        try:
            with path.open("rb") as file:
                return "yes" if holds(ELFFile(file)) else "no"
        except (OSError, ELFError, ValueError):
            return "no"

    try:
        return remembered(fact, path, found) == "yes"
    except OSError:
        return False


def _has_note_of_go(elf: Any) -> bool:
    from elftools.elf.segments import NoteSegment

    notes = (s for s in elf.iter_segments("PT_NOTE") if isinstance(s, NoteSegment))
    return any(note["n_name"] == "Go" for segment in notes for note in segment.iter_notes())


def read_dynamic(path: Path) -> Dynamic:
    """The dynamic section of `path`; an empty one where the file is not a readable dynamic ELF
    file. Remembered, since to read it takes longer than many a program."""
    try:
        text = remembered("dynamic", path, lambda: json.dumps(_read(path)._asdict(), default=str))
    except OSError:
        return Dynamic()
    kept = json.loads(text)
    return Dynamic(tuple(kept["needed"]), tuple(map(Path, kept["search"])), kept["soname"])


def _read(path: Path) -> Dynamic:
    from elftools.common.exceptions import ELFError
    from elftools.elf.dynamic import DynamicSegment
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as file:
            segments = ELFFile(file).iter_segments("PT_DYNAMIC")
            tags = [
                tag
                for segment in segments
                if isinstance(segment, DynamicSegment)
                for tag in segment.iter_tags()
            ]
            return _from_tags(tags, path)
    except (OSError, ELFError, ValueError, UnicodeDecodeError):
        return Dynamic()


def _from_tags(tags: list[Any], path: Path) -> Dynamic:
    needed = tuple(tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED")
    soname = next((tag.soname for tag in tags if tag.entry.d_tag == "DT_SONAME"), "")
    folders = [
        getattr(tag, kind)
        for kind in ("runpath", "rpath")
        for tag in tags
        if tag.entry.d_tag == f"DT_{kind.upper()}"
    ]
    origin = str(path.resolve().parent)
    search = [
        part.replace("$ORIGIN", origin).replace("${ORIGIN}", origin)
        for part in ":".join(folders).split(":")
    ]
    return Dynamic(needed, tuple(Path(part) for part in search if part), soname)


def find_mpi_library(program: Path) -> tuple[str, Path | None] | None:
    """The MPI that a program is linked with, directly or through its libraries: soname, and the
    file where it is found.

    None where none is linked, as in a Python that imports mpi4py later.
    """
    library_path = [Path(part) for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    seen: set[str] = set()
    waiting = [read_dynamic(program)]
    while waiting:
        dynamic = waiting.pop(0)
        folders = [*library_path, *dynamic.search]
        for name in dynamic.needed:
            if name in MPI_FAMILIES:
                return name, _find(name, folders)
            if name not in seen:
                seen.add(name)
                found = _find(name, folders)
                waiting += [read_dynamic(found)] if found else []
    return None


_SYSTEM_FOLDERS = (
    Path("/lib64"),
    Path("/usr/lib64"),
    Path("/lib"),
    Path("/usr/lib"),
    Path("/usr/local/lib"),
)


def _find(soname: str, folders: list[Path]) -> Path | None:
    system = [
        *_SYSTEM_FOLDERS,
        *(folder / f"{os.uname().machine}-linux-gnu" for folder in _SYSTEM_FOLDERS),
    ]
    places = (folder / soname for folder in (*folders, *system))
    # not Path.is_file: the loader passes over folders into which it cannot look
    return next((place for place in places if os.path.isfile(place)), None)  # noqa: PTH113
