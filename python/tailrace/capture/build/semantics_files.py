"""MPI-IO."""

from __future__ import annotations

from .pieces import Pieces

_STATUS = "struct status_place place = {0}; void *chosen = $&status;"


def _value(op: str, flags: str, extra: str = "") -> str:
    return f"file = (struct file_call){{.file = $fh, .op = FILE_{op}, .flags = {flags}{extra}}};\nfile_before(stream, &call, &file);"


def _simple(op: str, flags: str = "0") -> Pieces:
    return Pieces(
        declare="struct file_call file;",
        before=_value(op, flags),
        after="file_after(stream, &call, &file, result, NULL);",
    )


def _blocking(op: str, flags: str, extra: str) -> Pieces:
    return Pieces(
        declare=f"struct file_call file; {_STATUS}",
        before=_value(op, flags, extra) + "\nchosen = status_choose(&place, $LANGUAGE, chosen, 1);",
        after="file_after(stream, &call, &file, result, &place);",
        arguments={"status": "chosen"},
    )


def _started(op: str, flags: str, extra: str) -> Pieces:
    return Pieces(
        declare="struct file_call file;",
        before=_value(op, flags, extra),
        after="file_started(stream, &call, &file, result, $request);",
    )


def _split(op: str, flags: str, extra: str) -> Pieces:
    return Pieces(
        declare="struct file_call file;",
        before=_value(op, flags, extra),
        after="file_after(stream, &call, &file, result, NULL);",
    )


_AMOUNT = ", .count = $count, .type = $datatype"
_AT = ", .at = 1, .offset = $offset"


def _flags(suffix: str) -> str:
    collective = "all" in suffix or "ordered" in suffix
    shared = "shared" in suffix or "ordered" in suffix
    names = ["FILE_COLLECTIVE"] * collective + ["FILE_ORDERED"] * shared
    return " | ".join(names) or "0"


def _transfers(verb: str, op: str) -> dict[str, Pieces]:
    found = {}
    for suffix in ("", "_all", "_at", "_at_all", "_shared", "_ordered"):
        extra, flags = _AMOUNT + (_AT if "_at" in suffix else ""), _flags(suffix)
        found[f"MPI_File_{verb}{suffix}"] = _blocking(op, flags, extra)
        found[f"MPI_File_i{verb}{suffix}"] = _started(op, f"FILE_STARTS | {flags}", extra)
        found[f"MPI_File_{verb}{suffix}_begin"] = _split(op, flags, extra)
        found[f"MPI_File_{verb}{suffix}_end"] = _split(op, flags, ", .no_bytes = 1")
    return found


def _open_and_close() -> dict[str, Pieces]:
    return {
        "MPI_File_open": Pieces(
            declare="struct file_call file;",
            before="file_open_before(stream, &call, &file, $comm, $string(filename), $amode);",
            after="file_opened(stream, &call, &file, $comm, result, $fh);",
        ),
        "MPI_File_close": Pieces(
            declare="struct file_call file;",
            before=_value("CLOSE", "FILE_COLLECTIVE"),
            after="file_closed(stream, &call, &file, result);",
        ),
        "MPI_File_delete": Pieces(after="file_deleted(stream, &call, $string(filename), result);"),
    }


def table() -> dict[str, Pieces]:
    """Local queries (position, view, mode, …) touch no file: they stay plain."""
    collective = "FILE_COLLECTIVE"
    return {
        **_open_and_close(),
        **_transfers("read", "READ"),
        **_transfers("write", "WRITE"),
        "MPI_File_set_view": _simple("SET_VIEW", collective),
        "MPI_File_set_size": _simple("TRUNCATE", collective),
        "MPI_File_preallocate": _simple("TRUNCATE", collective),
        "MPI_File_sync": _simple("SYNC", collective),
        "MPI_File_set_info": _simple("METADATA", collective),
        "MPI_File_set_atomicity": _simple("METADATA", collective),
        "MPI_File_get_size": _simple("STAT"),
        "MPI_File_seek": _simple("SEEK"),
        "MPI_File_seek_shared": _simple("SEEK", "FILE_COLLECTIVE | FILE_ORDERED"),
        "MPI_File_get_position_shared": _simple("SEEK", "FILE_ORDERED"),
    }
