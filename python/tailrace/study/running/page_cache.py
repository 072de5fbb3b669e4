"""What is in the page cache when a run begins, as the study wants it: cold, warm, or as it is.

Cold: the files that the run will read are written back and let go (posix_fadvise,
POSIX_FADV_DONTNEED), and the kernel is asked (mincore) whether it did. Where it did not and we may,
all of the cache is dropped (/proc/sys/vm/drop_caches). What a file system's own client keeps in its
memory, as GlusterFS's translators do, is beyond reach: the answer says what this machine's kernel
has.
"""

import contextlib
import ctypes
import mmap
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tailrace.bench.placement import Placement

DROP = Path("/proc/sys/vm/drop_caches")
DROP_PAGES = "1"
PIECE_BYTES = 1 << 20
# As far as a file's residency is looked at: a file is let go as a whole.
LOOKED_AT_BYTES = 64 << 20


def files_below(path: Path) -> Iterator[Path]:
    """All regular files of a directory, however deep; a file itself."""
    if path.is_file():
        yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder) / name for name in names)


def flush(path: Path) -> None:
    """Writes back what the file system of this directory has not written yet, so that no run pays
    for another."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            ctypes.CDLL(None, use_errno=True).syncfs(descriptor)
        finally:
            os.close(descriptor)


def make(wanted: str, files: Sequence[Path], placed: Placement | None) -> str:
    """Cold or warm, on the nodes too where ranks are placed on nodes. Says what they are now."""
    warm = wanted == "warm"
    state = make_warm(files) if warm else make_cold(files)
    if placed is None:
        return state
    if warm:
        return make_warm_on_nodes(state, files, placed.entering())
    return make_cold_on_nodes(state, same_kernel=bool(placed.on.enter))


def make_cold(files: Iterable[Path]) -> str:
    """Lets go of the files. Says what they are now: "cold", or why they are not."""
    files = list(files)
    for file in files:
        _let_go(file)
    if not any(map(_resident, files)):
        return "cold"
    try:
        DROP.write_text(DROP_PAGES)
    except OSError as error:
        needs_root = f"dropping the whole cache needs root ({error.strerror})"
        return f"not cold: the kernel kept pages, and {needs_root}"
    return "not cold: the kernel kept pages" if any(map(_resident, files)) else "cold"


def make_cold_on_nodes(state: str, same_kernel: bool) -> str:
    """`state` of this node, completed: nodes have clients, and so pages, of their own. Those of the
    test bed are this kernel's too."""
    if state != "cold":
        return state
    if not same_kernel:
        return "cold on the node that starts runs; what others keep is not known"
    try:
        DROP.write_text(DROP_PAGES)
    except OSError as error:
        return f"not cold on the nodes: dropping the whole cache needs root ({error.strerror})"
    return state


def make_warm_on_nodes(state: str, files: Sequence[Path], entering: Iterable[Sequence[str]]) -> str:
    """The same for nodes, each of which has a client, and so pages, of its own. `entering`: for
    each node, the words that run a command there; none where we cannot. A file that is not there
    is another node's own."""
    nodes = list(entering)
    if not nodes:
        return f"{state} on the node that starts runs; what others keep is not known"
    for enter in nodes if files else ():
        words = [*enter, "cat", "--", *map(str, files)]
        subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    return state


def make_warm(files: Iterable[Path]) -> str:
    """Reads the files once."""
    for file in files:
        with contextlib.suppress(OSError), file.open("rb", buffering=0) as stream:
            while stream.read(PIECE_BYTES):
                pass
    return "warm"


def _let_go(file: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # pages that are not on the disk yet stay
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _resident(file: Path) -> bool:
    """Whether any page of the file is in the cache."""
    try:
        size = min(file.stat().st_size, LOOKED_AT_BYTES)
        if size == 0:
            return False
        with (
            file.open("rb") as stream,
            mmap.mmap(
                stream.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE
            ) as view,
        ):
            return _any_page(view, size)
    except (OSError, ValueError):
        return False


def _any_page(view: mmap.mmap, size: int) -> bool:
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    flags = (ctypes.c_ubyte * pages)()
    # ctypes takes an address of writable memory only; the mapping is private, and nothing is
    # written
    address = ctypes.addressof(anchor := ctypes.c_char.from_buffer(view))
    try:
        status = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(address), ctypes.c_size_t(size), flags
        )
    finally:
        del anchor
    return status == 0 and any(flag & 1 for flag in flags)
