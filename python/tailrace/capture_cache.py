"""The compiled capture libraries, kept per source, compiler and MPI in ~/.cache/tailrace (or TAILRACE_CACHE).

    objects/HASH.so       one library each, whose name says what it was made of
    sets/HASH/            what one run preloads: libtailrace.so and libtailrace-mpi-SONAME.so, links to the objects

Everything is made under another name and renamed, so that runs that start together do not disturb each other.
"""

import contextlib
import hashlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from tailrace.errors import TailraceError
from tailrace.mpi import Installation

CORE = "libtailrace.so"
Tell = Callable[[str], None]


def root() -> Path:
    """TAILRACE_CACHE, else the user's cache directory."""
    if named := os.environ.get("TAILRACE_CACHE"):
        return Path(named).absolute()
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home).absolute() / "tailrace"


def flavour_name(soname: str) -> str:
    return f"libtailrace-mpi-{soname}.so"


def compiler() -> str:
    """The C compiler that the core is built with: CC, else cc."""
    words = shlex.split(os.environ.get("CC", "")) or ["cc"]
    return shutil.which(words[0]) or words[0]


@lru_cache(maxsize=1)
def _sources_hash() -> str:
    """Over capture's sources and the generator's, the standard's description included."""
    from importlib.metadata import version

    from tailrace import capture_build
    from tailrace.capture_build.build import sources

    digest = hashlib.sha256(version("pympistandard").encode())
    generator = Path(capture_build.__file__).parent
    files = [*sources().rglob("*.[ch]"), *sources().rglob("*.def"), *generator.glob("*.py")]
    for file in sorted(files):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def core_object() -> Path:
    """Where the core library is, or will be."""
    return _object("core", compiler())


def flavour_object(installation: Installation) -> Path:
    """Where the library for this MPI is, or will be: its header and the way it compiles are part of the name."""
    from tailrace.capture_build.build import mpi_compile_flags

    compiler, flags = mpi_compile_flags(str(installation.mpicc))
    folders = [Path(flag[2:]) for flag in flags if flag.startswith("-I")]
    headers = [folder / name for folder in folders for name in ("mpi.h", "mpi_abi.h", "mpi_proto.h")]
    contents = [header.read_bytes().hex() for header in headers if header.is_file()]
    return _object(installation.soname, compiler, *flags, *contents)


def _object(*parts: str) -> Path:
    digest = hashlib.sha256("\0".join((_sources_hash(), os.uname().machine, *parts)).encode()).hexdigest()[:24]
    return root() / "objects" / f"{digest}.so"


def prepare(installations: Iterable[Installation], tell: Tell) -> Path:
    """The directory with the core library and one library per MPI, built now where they were not yet.

    An MPI whose library cannot be built is told and left out. Raises TailraceError where the core cannot be built.
    """
    from tailrace.capture_build import build_core

    libraries = {CORE: _built(core_object(), lambda output: build_core(output, compiler()), "capture", tell)}
    for mpi in installations:
        if (library := _flavour(mpi, tell)) is not None:
            libraries[flavour_name(mpi.soname)] = library
    return _set_of(libraries)


def _flavour(installation: Installation, tell: Tell) -> Path | None:
    from tailrace.capture_build import build_flavour

    label = f"capture for {installation.family} ({installation.soname})"
    mpicc = str(installation.mpicc)
    try:
        return _built(flavour_object(installation), lambda output: build_flavour(mpicc, output), label, tell)
    except (TailraceError, _build_error()) as error:
        tell(f"no {label}: {error}")
    return None


def _build_error() -> type[Exception]:
    from tailrace.capture_build import BuildError

    return BuildError


def _built(target: Path, build: Callable[[Path], None], label: str, tell: Tell) -> Path:
    if target.is_file():
        return target
    tell(f"compiling {label}, this once")
    with _told(target.parent), _scratch(target.parent) as scratch:
        try:
            build(scratch / "library.so")
        except _build_error() as error:
            raise TailraceError(str(error).rstrip("."), getattr(error, "hint", "")) from None
        (scratch / "library.so").replace(target)
    return target


def _set_of(libraries: dict[str, Path]) -> Path:
    """A directory of links, named after what it holds. Links that already stand are the same."""
    text = "\0".join(f"{name}={target.name}" for name, target in sorted(libraries.items()))
    folder = root() / "sets" / hashlib.sha256(text.encode()).hexdigest()[:24]
    with _told(folder.parent):
        if not folder.is_dir():
            with _scratch(folder.parent) as scratch:
                made = scratch / "set"
                made.mkdir()
                for name, target in libraries.items():
                    (made / name).symlink_to(os.path.relpath(target, folder))
                with contextlib.suppress(OSError):  # another run was quicker
                    made.rename(folder)
    return folder


@contextlib.contextmanager
def _scratch(beside: Path) -> Iterator[Path]:
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=beside) as folder:
        yield Path(folder)


@contextlib.contextmanager
def _told(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TailraceError(
            f"{place} cannot be written: {error.strerror}", "name another directory in the variable TAILRACE_CACHE"
        ) from None


def preloadable(folder: Path, scratch: Path) -> Path:
    """`folder`, or a link to it in `scratch` where its path holds what LD_PRELOAD takes as a separator."""
    if not set(" :\t\n") & set(str(folder)):
        return folder
    link = scratch / "capture"
    link.symlink_to(folder)
    return link


def remembered_soname(mpicc: Path) -> str:
    """The soname that programs of this compiler need; empty where it cannot be told. Asking takes a compilation, so the
    answer is kept for as long as the compiler's file does not change."""
    from tailrace.capture_build import soname

    status = mpicc.stat()
    key = hashlib.sha256(f"{mpicc}\0{status.st_mtime_ns}\0{status.st_size}".encode()).hexdigest()[:24]
    note = root() / "sonames" / key
    with contextlib.suppress(OSError):
        return note.read_text()
    answer = soname(str(mpicc)) or ""
    with contextlib.suppress(OSError), _scratch(note.parent) as scratch:
        (scratch / "soname").write_text(answer)
        (scratch / "soname").replace(note)
    return answer
