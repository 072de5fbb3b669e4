"""What each MPI procedure means for the trace, as pieces of C around the real call.

In the pieces ``$name`` is a parameter's value (of an output: after the call), ``$&name`` the
parameter as it was passed, ``$string(name)`` a C string, ``$LANGUAGE`` how the caller passes
things, ``$WIDE`` whether counts are MPI_Count. Names are those of the standard. A procedure without
an entry is recorded as *plain*, unless it is among the questions: those are counted.
"""

from __future__ import annotations

import functools

from . import semantics_collectives, semantics_files, semantics_messages, semantics_one_sided
from .pieces import Pieces

_COMMUNICATOR_PARENT = {
    "MPI_Comm_dup": ("comm", "newcomm"),
    "MPI_Comm_dup_with_info": ("comm", "newcomm"),
    "MPI_Comm_split": ("comm", "newcomm"),
    "MPI_Comm_split_type": ("comm", "newcomm"),
    "MPI_Comm_create": ("comm", "newcomm"),
    "MPI_Cart_create": ("comm_old", "comm_cart"),
    "MPI_Cart_sub": ("comm", "newcomm"),
    "MPI_Graph_create": ("comm_old", "comm_graph"),
    "MPI_Dist_graph_create": ("comm_old", "comm_dist_graph"),
    "MPI_Dist_graph_create_adjacent": ("comm_old", "comm_dist_graph"),
    "MPI_Intercomm_merge": ("intercomm", "newintracomm"),
    "MPI_Comm_spawn": ("comm", "intercomm"),
    "MPI_Comm_spawn_multiple": ("comm", "intercomm"),
    "MPI_Comm_accept": ("comm", "newcomm"),
    "MPI_Comm_connect": ("comm", "newcomm"),
}


def _creation(parent: str, new: str, flags: str = "0", salt: str = "0") -> Pieces:
    value = f"(struct creation){{.parent = {parent}, .flags = {flags}, .salt = {salt}}}"
    return Pieces(after=f"creation_after(stream, &call, &{value}, result, ${new});")


_IDUP = Pieces(
    after="creation_starts(stream, &call, &(struct creation){.parent = $comm}, result, $request, $&newcomm, $LANGUAGE);"
)
_FREE = Pieces(
    declare="MPI_Comm freed;",
    before="freed = $comm;",
    after="if (result == MPI_SUCCESS)\n    communicator_forget(freed);\nplain_after(stream, &call);",
)


def _communicators() -> dict[str, Pieces]:
    found = {
        name: _creation(f"${parent}", new) for name, (parent, new) in _COMMUNICATOR_PARENT.items()
    }
    alone = "predefined.comm_null"
    # The local groups' other members do not know the peer communicator: what all pass alike is the
    # tag.
    found["MPI_Intercomm_create"] = _creation(alone, "newintercomm", salt="(uint64_t)$tag")
    found["MPI_Comm_create_group"] = _creation(
        "$comm", "newcomm", "CREATION_MEMBERS_ONLY", "(uint64_t)$tag"
    )
    found["MPI_Comm_join"] = _creation(alone, "intercomm", "CREATION_MEMBERS_ONLY")
    for name, new in (
        ("MPI_Comm_create_from_group", "newcomm"),
        ("MPI_Intercomm_create_from_groups", "newintercomm"),
    ):
        found[name] = _creation(
            alone, new, "CREATION_MEMBERS_ONLY", "salt_of_string($string(stringtag))"
        )
    # Not made here: known from now on, where there is one.
    found["MPI_Comm_get_parent"] = Pieces(
        after="if (result == MPI_SUCCESS)\n    communicator_seen($parent);\nplain_after(stream, &call);"
    )
    found["MPI_Comm_idup"] = found["MPI_Comm_idup_with_info"] = _IDUP
    found["MPI_Comm_free"] = found["MPI_Comm_disconnect"] = _FREE
    return found


_INITIALIZE = Pieces(
    prologue="tailrace_rank_starts();",
    inside="control_initialized(result);",
    after="control_record(stream, &call, CONTROL_INIT, 0);",
)
_CONTROL = {
    "MPI_Init": _INITIALIZE,
    "MPI_Init_thread": _INITIALIZE,
    "MPI_Session_init": Pieces(
        prologue="tailrace_rank_starts();",
        inside="session_initialized(result, $&session, $LANGUAGE);",
        after="session_record(stream, &call, CONTROL_INIT);",
    ),
    "MPI_Session_finalize": Pieces(after="session_record(stream, &call, CONTROL_FINALIZE);"),
    "MPI_Finalize": Pieces(
        before="control_known(stream, &call, CONTROL_FINALIZE, 0);",
        ahead="control_finalizing();",
        after="control_record(stream, &call, CONTROL_FINALIZE, 0);",
    ),
    "MPI_Pcontrol": Pieces(after="control_record(stream, &call, CONTROL_PCONTROL, $level);"),
    # It does not return.
    "MPI_Abort": Pieces(
        before="control_record(stream, &call, CONTROL_ABORT, $errorcode);", after=""
    ),
}


@functools.cache
def table() -> dict[str, Pieces]:
    """Pieces by base name (a large-count variant has those of its base)."""
    return {
        **semantics_messages.table(),
        **semantics_collectives.table(),
        **semantics_one_sided.table(),
        **semantics_files.table(),
        **_communicators(),
        **_CONTROL,
    }


PLAIN = Pieces(after="plain_after(stream, &call);")

# What MPI answers from memory at once: it communicates with nobody, cannot wait, calls nothing of
# the program, and takes no longer for more ranks or larger types. To time it takes longer than it
# takes, and nothing depends on when it was asked; so it is counted.
QUESTIONS = {
    "MPI_Address", "MPI_Attr_get", "MPI_Cart_coords", "MPI_Cart_rank",
    "MPI_Cart_shift", "MPI_Cartdim_get", "MPI_Comm_get_attr", "MPI_Comm_get_name",
    "MPI_Comm_rank", "MPI_Comm_remote_size", "MPI_Comm_size", "MPI_Comm_test_inter",
    "MPI_Dist_graph_neighbors_count", "MPI_Error_class", "MPI_Finalized", "MPI_Get_address",
    "MPI_Get_count", "MPI_Get_elements", "MPI_Get_elements_x", "MPI_Get_version",
    "MPI_Graph_neighbors_count", "MPI_Graphdims_get", "MPI_Group_rank", "MPI_Group_size",
    "MPI_Initialized", "MPI_Is_thread_main", "MPI_Op_commutative", "MPI_Query_thread",
    "MPI_Status_get_error", "MPI_Status_get_source", "MPI_Status_get_tag",
    "MPI_Status_set_cancelled", "MPI_Status_set_elements", "MPI_Status_set_elements_x",
    "MPI_Status_set_error", "MPI_Status_set_source", "MPI_Status_set_tag", "MPI_Test_cancelled",
    "MPI_Topo_test", "MPI_Type_extent", "MPI_Type_get_attr", "MPI_Type_get_envelope",
    "MPI_Type_get_extent", "MPI_Type_get_extent_x", "MPI_Type_get_name",
    "MPI_Type_get_true_extent", "MPI_Type_get_true_extent_x", "MPI_Type_lb", "MPI_Type_size",
    "MPI_Type_size_x", "MPI_Type_ub", "MPI_Win_get_attr", "MPI_Win_get_name",
}  # fmt: skip

# What gives numbers alone as questions do, and is timed all the same: why.
TIMED = {
    "it makes or removes something": (
        "MPI_Add_error_class", "MPI_Add_error_code", "MPI_Comm_create_keyval",
        "MPI_Keyval_create", "MPI_Type_create_keyval", "MPI_Win_create_keyval",
    ),
    "it waits until what is in the buffer has been sent": (
        "MPI_Buffer_detach", "MPI_Comm_detach_buffer", "MPI_Session_detach_buffer",
    ),
    "it takes longer for more ranks": (
        "MPI_Cart_map", "MPI_Comm_compare", "MPI_Graph_map", "MPI_Group_compare",
    ),
    "it may go through the whole type": ("MPI_Pack_external_size", "MPI_Pack_size"),
    "it goes through strings": (
        "MPI_Info_get_nkeys", "MPI_Info_get_nthkey", "MPI_Info_get_valuelen",
    ),
    "it may ask the runtime system, which is another process": ("MPI_Session_get_num_psets",),
    "it may let communication progress": ("MPI_Parrived",),
    "it is about a file": (
        "MPI_File_get_amode", "MPI_File_get_atomicity", "MPI_File_get_byte_offset",
        "MPI_File_get_position", "MPI_File_get_type_extent",
    ),
}  # fmt: skip


def pieces(base: str) -> Pieces:
    return table().get(base, PLAIN)
