"""Templates are kept compiled: to compile them takes as long as all else of a small page."""

import contextlib

import jinja2
from jinja2.bccache import Bucket

from tailrace import cache
from tailrace.errors import TailraceError


class _Kept(jinja2.FileSystemBytecodeCache):
    """A full or broken cache costs time, and no page."""

    def load_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def templates(package: str, folder: str) -> jinja2.Environment:
    """A page's templates: names from outside are escaped, and nothing undefined is printed."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, folder),
        bytecode_cache=_kept(),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _kept() -> jinja2.BytecodeCache | None:
    """None where nothing can be kept."""
    try:
        return _Kept(str(cache.folder("templates")))
    except TailraceError:
        return None
