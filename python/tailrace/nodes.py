"""Streams that several nodes hold: where each keeps its own, and how they come to the raw
directory. What `capture/node.c` does at the end of a run, for those whose run had no end."""

import os
import stat
import struct
import tempfile
from pathlib import Path
from typing import IO, NamedTuple

from tailrace.errors import TailraceError
from tailrace.names import printable, shown_path

# In a raw directory: the name of the run's directories on the nodes.
NAME = "nodes"
# In a raw directory: HOST.at says where that node's streams are, HOST.N.node holds them.
ANNOUNCED = "*.at"
FILES = "*.node"
MAGIC, VERSION = b"TAILNODE", 1
COPIED_BYTES = 1 << 20
# Where nobody but this node sees what is written; and file systems that vanish with the node.
OF_THE_NODE = ("/tmp", "/var/tmp", "/dev/shm", "/run")
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
OF_A_NETWORK = ("nfs", "fuse", "lustre", "gpfs", "ceph", "beegfs", "pvfs2", "panfs", "cifs", "9p")


class Collected(NamedTuple):
    """`streams` were fetched from this node; `awaited` are the nodes that still hold theirs, with
    the directory."""

    streams: int
    awaited: dict[str, str]


def name_run(raw: Path) -> str:
    """For the directories of this run on the nodes; stored for whoever looks for them later."""
    name = f"tailrace-{os.getuid()}-{os.urandom(8).hex()}"
    (raw / NAME).write_text(name)
    return name


def only_here(directory: Path) -> bool:
    """Whether other nodes surely do not see what is written below `directory`: a temporary
    directory or memory, and no file system of a network."""
    kind = _file_system(directory)
    if kind.startswith(OF_A_NETWORK):
        return False
    places = [*OF_THE_NODE, os.environ.get("TMPDIR", "")]
    real = Path(os.path.realpath(directory))
    below = any(place and real.is_relative_to(os.path.realpath(place)) for place in places)
    return kind in IN_MEMORY or below


def _file_system(directory: Path) -> str:
    """The kind in the kernel's words, of the deepest mount above; empty where it does not say."""
    real = Path(os.path.realpath(directory))
    found: tuple[int, str] = (-1, "")
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point = before.split()[4].encode("latin-1", "replace").decode("unicode_escape")
        if real.is_relative_to(point) and len(point) >= found[0]:
            found = (len(point), after.split()[0])
    return found[1]


# --- collecting ---


def collect(raw: Path) -> Collected:
    """Copies this node's streams, if it holds any, into one file in `raw`, and removes them."""
    count = sum(_fetch(place, raw) for place in places(raw))
    return Collected(count, awaited(raw))


def awaited(raw: Path) -> dict[str, str]:
    return {
        path.name.removesuffix(".at"): path.read_text("utf-8", "replace")
        for path in sorted(raw.glob(ANNOUNCED))
    }


def places(raw: Path) -> list[Path]:
    """This node's directories of the run that are the user's own, where capture may have put
    them."""
    try:
        name = (raw / NAME).read_text()
    except OSError:
        return []
    bases = [os.environ.get("TAILRACE_NODE_DIRECTORY"), os.environ.get("TMPDIR")]
    places = dict.fromkeys(Path(base, name) for base in [*bases, "/tmp", "/dev/shm"] if base)
    if (announced := awaited(raw).get(os.uname().nodename)) is not None:
        places |= {Path(announced): None}
    return [place for place in places if place.name == name and _is_our_own(place)]


def _is_our_own(place: Path) -> bool:
    try:
        status = place.lstat()
    except OSError:
        return False
    private = not stat.S_IMODE(status.st_mode) & 0o077
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and private


def _fetch(place: Path, raw: Path) -> int:
    streams = sorted(place.glob("*.stream"))
    if streams:
        _write_file(streams, raw / f"{os.uname().nodename}.{os.getpid()}.node")
    for path in (*streams, place / "collector"):
        path.unlink(missing_ok=True)
    place.rmdir()
    (raw / f"{os.uname().nodename}.at").unlink(missing_ok=True)
    return len(streams)


def _write_file(streams: list[Path], wanted: Path) -> None:
    """Whole, or not at all."""
    try:
        with tempfile.NamedTemporaryFile(dir=wanted.parent, prefix=".", delete=False) as file:
            partial = Path(file.name)
            file.write(struct.pack("<8sII", MAGIC, VERSION, 0))
            for stream in streams:
                _copy(stream, file)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(wanted)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise TailraceError(
            f"{shown_path(wanted)} cannot be written: {error.strerror}",
            f"the streams are still in {printable(str(streams[0].parent))}; make room and collect"
            " again",
        ) from None


def _copy(stream: Path, file: IO[bytes]) -> None:
    """As capture does it: its size, its name, its bytes."""
    name = stream.name.encode()
    with stream.open("rb") as source:
        size = os.fstat(source.fileno()).st_size
        file.write(struct.pack("<QQ", size, len(name)) + name)
        while size:
            piece = source.read(min(size, COPIED_BYTES))
            if not piece:
                raise OSError(5, f"{stream.name} became shorter")
            file.write(piece)
            size -= len(piece)
