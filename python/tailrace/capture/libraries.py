"""The compiled capture libraries, kept per source, compiler and MPI in the cache.

objects/HASH.so       one library each, whose name says what it was made of
objects/HASH.crc32    what it must hold: a damaged one is compiled again
sets/HASH/            what one run preloads: libtailrace.so and libtailrace-mpi-SONAME.so, links
                      to the objects
"""

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import zlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from tailrace import cache
from tailrace.capture.build import BuildError
from tailrace.capture.mpi import Installation, first_of_each_soname, installed
from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.terminal import Tell

CORE = "libtailrace.so"
SUM = ".crc32"


def flavour_name(soname: str) -> str:
    return f"libtailrace-mpi-{soname}.so"


def compiler() -> str:
    """The C compiler that the core is built with: CC, else cc."""
    words = shlex.split(os.environ.get("CC", "")) or ["cc"]
    return shutil.which(words[0]) or words[0]


@lru_cache(maxsize=1)
def _sources_hash() -> str:
    """Over capture's sources and the generator's, the standard's description included."""
    generator = Path(__file__).parent / "build"
    folders = os.walk(generator / "sources")
    files = [Path(folder, name) for folder, _, names in folders for name in names]
    files = [file for file in files if file.suffix in (".c", ".h", ".def", ".map")]
    files += generator.glob("*.py")
    files.sort(key=str)

    def contents() -> str:
        from importlib.metadata import version

        digest = hashlib.sha256(version("pympistandard").encode())
        for file in files:
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()

    return cache.remembered("sources", files, contents)


def core_object() -> Path:
    """Where the core library is, or will be."""
    return _object("core", compiler())


def flavour_object(installation: Installation) -> Path:
    """Where the library for this MPI is, or will be: its header and the way it compiles are part of
    the name."""
    compiler, *flags = _compile_flags(installation.mpicc)
    folders = [Path(flag[2:]) for flag in flags if flag.startswith("-I")]
    headers = [
        folder / name for folder in folders for name in ("mpi.h", "mpi_abi.h", "mpi_proto.h")
    ]
    contents = [_hash_of(header, *_state_of(header)) for header in headers if header.is_file()]
    return _object(installation.soname, compiler, *flags, *contents)


def _compile_flags(mpicc: Path) -> list[str]:
    """The compiler behind `mpicc` and its flags. Its own variables may change the answer."""
    variables = sorted((key, value) for key, value in os.environ.items() if "MPI" in key)

    def ask() -> str:
        from tailrace.capture.build import mpi_compile_flags

        compiler, flags = mpi_compile_flags(str(mpicc))
        return json.dumps([compiler, *flags])

    answer: list[str] = json.loads(cache.remembered("flags", mpicc, ask, repr(variables)))
    return answer


def _object(*parts: str) -> Path:
    # with the kind of checksum: what an older Tailrace kept beside its own is not looked for
    made_of = "\0".join((SUM, _sources_hash(), os.uname().machine, *parts))
    return cache.root() / "objects" / f"{_hash(made_of.encode())[:24]}.so"


def prepare(installations: Iterable[Installation], tell: Tell) -> Path:
    """The directory with the core library and one library per MPI, built now where they were not
    yet.

    An MPI whose library cannot be built is reported and left out. Raises TailraceError where the
    core cannot be built.
    """
    libraries = {CORE: _built(core_object(), _build_core, "capture", tell)}
    for mpi in installations:
        if (library := _flavour(mpi, tell)) is not None:
            libraries[flavour_name(mpi.soname)] = library
    return _set_of(libraries)


def _build_core(output: Path) -> None:
    from tailrace.capture.build import build_core

    build_core(output, compiler())


def _flavour(installation: Installation, tell: Tell) -> Path | None:
    label = f"capture for {installation.family} ({installation.soname})"

    def build(output: Path) -> None:
        from tailrace.capture.build import build_flavour

        build_flavour(str(installation.mpicc), output)

    try:
        return _built(flavour_object(installation), build, label, tell)
    except (TailraceError, BuildError) as error:
        tell(f"no {label}: {error}")
    return None


def _built(target: Path, build: Callable[[Path], None], label: str, tell: Tell) -> Path:
    objects = cache.folder("objects")
    with cache.writing(objects):
        if is_built(target):
            return target
        if target.exists():
            tell(f"{label} is damaged in the cache and is compiled again")
        else:
            tell(f"compiling {label}, on first use only")
        with cache.scratch(objects) as scratch:
            made = scratch / "library.so"
            try:
                build(made)
            except BuildError as error:
                raise TailraceError(str(error), error.hint) from None
            made.chmod(0o700)
            (scratch / "sum").write_text(_sum(made.read_bytes()))
            made.replace(target)
            (scratch / "sum").replace(target.with_suffix(SUM))
    return target


def is_built(target: Path) -> bool:
    """Whether the library is there as it was compiled."""
    try:
        cache.refuse_foreign(target)
        return target.with_suffix(SUM).read_text() == _sum_of(target, *_state_of(target))
    except OSError:
        return False


def _state_of(file: Path) -> tuple[int, int, int]:
    """What changes when the file does. What is found ready is prepared next, and not read again."""
    status = file.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


@lru_cache(maxsize=64)
def _sum_of(file: Path, *_state: int) -> str:
    return _sum(file.read_bytes())


@lru_cache(maxsize=64)
def _hash_of(file: Path, *_state: int) -> str:
    return _hash(file.read_bytes())


def _sum(content: bytes) -> str:
    """Against damage; who else may write there is what `cache` looks at. Each start of a program
    waits for it: of a library for MPI 0.4 ms, where a hash takes 2 or more."""
    return f"{zlib.crc32(content):08x}"


def _hash(content: bytes) -> str:
    """What a name is made of."""
    return hashlib.blake2b(content).hexdigest()


def _set_of(libraries: dict[str, Path]) -> Path:
    """A directory of links, named after what it holds. Links that already stand are the same."""
    text = "\0".join(f"{name}={target.name}" for name, target in sorted(libraries.items()))
    sets = cache.folder("sets")
    folder = sets / hashlib.sha256(text.encode()).hexdigest()[:24]
    with cache.writing(sets):
        if not folder.is_dir():
            with cache.scratch(sets) as scratch:
                made = scratch / "set"
                made.mkdir(mode=0o700)
                for name, target in libraries.items():
                    (made / name).symlink_to(os.path.relpath(target, folder))
                with contextlib.suppress(OSError):  # another run was quicker
                    made.rename(folder)
        for name, target in libraries.items():  # what cleans up old files takes links as well
            with contextlib.suppress(FileExistsError):
                (folder / name).symlink_to(os.path.relpath(target, folder))
        cache.refuse_foreign(folder)
        if os.statvfs(folder).f_flag & os.ST_NOEXEC:
            raise TailraceError(
                f"{printable(str(folder))} is on a file system mounted with noexec",
                "name another directory in the variable TAILRACE_CACHE",
            )
    return folder


def ready() -> list[Installation]:
    """Every MPI whose library is compiled already: a program that is not linked with one may start
    another that is."""
    return [mpi for mpi in first_of_each_soname(installed()) if _is_ready(mpi)]


def _is_ready(mpi: Installation) -> bool:
    try:
        return is_built(flavour_object(mpi))
    except BuildError:
        return False


def preloadable(folder: Path, scratch: Callable[[], Path]) -> Path:
    """`folder`, or a link to it in `scratch` where its path holds what LD_PRELOAD takes as a
    separator: only then is there to be room for one."""
    if not set(" :\t\n") & set(str(folder)):
        return folder
    link = scratch() / "capture"
    link.symlink_to(folder)
    return link
