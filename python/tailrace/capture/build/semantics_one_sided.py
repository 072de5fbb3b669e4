"""One-sided communication."""

from __future__ import annotations

from .pieces import Pieces


def _pieces(
    op: str,
    target: str = "-1",
    count: str = "0",
    type_: str = "predefined.datatype_null",
    request: str = "",
    group: str = "",
    flags: str = "0",
) -> Pieces:
    fields = [
        f".window = $win, .op = WINDOW_{op}, .target = {target}, .count = {count}, .type = {type_}"
    ]
    fields.append(f".flags = {'FLAG_STARTS' if request else flags}")
    if group:
        fields.append(f".group = {group}, .has_group = 1")
    return Pieces(
        declare="struct one_sided one_sided;",
        before=f"one_sided = (struct one_sided){{{', '.join(fields)}}};\none_sided_before(stream, &call, &one_sided);",
        after=f"one_sided_after(stream, &call, &one_sided, result, {request or 'predefined.request_null'});",
    )


def _transfer(op: str, request: str = "") -> Pieces:
    return _pieces(op, "$target_rank", "$origin_count", "$origin_datatype", request)


def _transfers() -> dict[str, Pieces]:
    # An MPI_NO_OP accumulate may pass any origin type: the result's is the one that means something.
    get_accumulate = {
        "target": "$target_rank",
        "count": "$result_count",
        "type_": "$result_datatype",
    }
    return {
        "MPI_Put": _transfer("PUT"),
        "MPI_Get": _transfer("GET"),
        "MPI_Accumulate": _transfer("ACCUMULATE"),
        "MPI_Get_accumulate": _pieces("ACCUMULATE", **get_accumulate),
        "MPI_Fetch_and_op": _pieces("ACCUMULATE", "$target_rank", "1", "$datatype"),
        "MPI_Compare_and_swap": _pieces("ACCUMULATE", "$target_rank", "1", "$datatype"),
        "MPI_Rput": _transfer("PUT", "$request"),
        "MPI_Rget": _transfer("GET", "$request"),
        "MPI_Raccumulate": _transfer("ACCUMULATE", "$request"),
        "MPI_Rget_accumulate": _pieces("ACCUMULATE", **get_accumulate, request="$request"),
    }


def _synchronization() -> dict[str, Pieces]:
    waited = "if (result == MPI_SUCCESS && !$flag) one_sided.op = WINDOW_OTHER;\none_sided_after(stream, &call, &one_sided, result, predefined.request_null);"
    wait = _pieces("WAIT")
    return {
        "MPI_Win_fence": _pieces("FENCE"),
        "MPI_Win_post": _pieces("POST", group="$group"),
        "MPI_Win_start": _pieces("START", group="$group"),
        "MPI_Win_complete": _pieces("COMPLETE"),
        "MPI_Win_wait": wait,
        "MPI_Win_test": Pieces(declare=wait.declare, before=wait.before, after=waited),
        "MPI_Win_lock": _pieces(
            "LOCK", "$rank", flags="$lock_type == MPI_LOCK_EXCLUSIVE ? FLAG_EXCLUSIVE : 0"
        ),
        "MPI_Win_lock_all": _pieces("LOCK"),
        "MPI_Win_unlock": _pieces("UNLOCK", "$rank"),
        "MPI_Win_unlock_all": _pieces("UNLOCK"),
        "MPI_Win_flush": _pieces("FLUSH", "$rank"),
        "MPI_Win_flush_all": _pieces("FLUSH"),
        "MPI_Win_flush_local": _pieces("FLUSH", "$rank"),
        "MPI_Win_flush_local_all": _pieces("FLUSH"),
        "MPI_Win_sync": _pieces("OTHER"),
    }


def _windows() -> dict[str, Pieces]:
    created = Pieces(after="window_created(stream, &call, result, $comm, $win);")
    names = (
        "MPI_Win_create",
        "MPI_Win_allocate",
        "MPI_Win_allocate_shared",
        "MPI_Win_create_dynamic",
    )
    freed = Pieces(
        declare="int64_t freed;",
        before="freed = window_forget($win);",
        after="window_freed(stream, &call, freed);",
    )
    return {**dict.fromkeys(names, created), "MPI_Win_free": freed}


def table() -> dict[str, Pieces]:
    return {**_transfers(), **_synchronization(), **_windows()}
