"""The calls of a trace, one row each: read from the file whenever they are asked for."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace import extras
from tailrace.engine import calls, reported
from tailrace.errors import TailraceError
from tailrace.units import NANOSECONDS_PER_SECOND

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Calls:
    """All calls of a run, or those of a stretch, of some ranks, of a file.

    Any library that knows Arrow's PyCapsule interface reads it directly, batch by batch, so that
    memory does not grow with the trace: `polars.DataFrame(run.calls())`,
    `pyarrow.RecordBatchReader.from_stream(run.calls())`. Rows come in order of rank, thread and end
    of the call. Columns: rank, thread, function, layer, depth (calls around it), begin_ns (from the
    begin of the run), duration_ns, file, offset, bytes, peer (rank), tag, source and source_tag (of
    a call that sends and receives), communicator, peers (ranks that an epoch of a window is opened
    for, or from which a neighbourhood collective receives), window (which of the communicator's),
    exclusive (of a window's lock), request (that the call starts), completes (the requests that it
    completes) and acts_on (those that it starts again, cancels, frees, or makes a part of ready).
    """

    def __init__(
        self,
        path: str,
        begin_s: float | None = None,
        end_s: float | None = None,
        ranks: Iterable[int] | None = None,
        file: str | bytes | None = None,
    ) -> None:
        if not path:
            raise TailraceError("this run was not read from a file, so it has no calls to list")
        self.path = Path(path)
        wanted = None if ranks is None else [int(rank) for rank in ranks]
        name = file.encode(errors="surrogateescape") if isinstance(file, str) else file
        self._calls = calls(self.path, _nanoseconds(begin_s), _nanoseconds(end_s), wanted, name)

    def __len__(self) -> int:
        """How many there are, counted by reading them."""
        with reported(self.path):
            return len(self._calls)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Arrow's PyCapsule interface."""
        with reported(self.path):
            return self._calls.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> "pa.Table":
        """All of them in memory, as a PyArrow table."""
        extras.need("data", "Arrow tables")
        import pyarrow as pa

        return pa.table(self)

    def to_pandas(self) -> "pd.DataFrame":
        """All of them in memory, as a data frame; names are categories."""
        extras.need("data", "data frames")
        return self.to_arrow().to_pandas()


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * NANOSECONDS_PER_SECOND)
