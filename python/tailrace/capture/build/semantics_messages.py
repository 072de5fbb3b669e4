"""Point-to-point communication and the completion of requests."""

from __future__ import annotations

from .pieces import Pieces

_STATUS = "struct status_place place = {0}; void *chosen = $&status;"
_NO_REQUEST = "predefined.request_null"
_STARTS = "FLAG_STARTS"
_PERSISTENT = "FLAG_STARTS | FLAG_PERSISTENT"
_PARTITIONED = "FLAG_STARTS | FLAG_PERSISTENT | FLAG_PARTITIONED"


def _send(mode: int, flags: str, request: str, count: str = "$count") -> Pieces:
    fields = f".comm = $comm, .peer = $dest, .tag = $tag, .mode = {mode}, .flags = {flags}, .count = {count}, .type = $datatype"
    return Pieces(
        declare="struct send send;",
        before=f"send = (struct send){{{fields}}};\nsend_before(stream, &call, &send);",
        after=f"send_after(stream, &call, &send, result, {request});",
    )


def _sends() -> dict[str, Pieces]:
    found = {"MPI_Psend_init": _send(0, _PARTITIONED, "$request", "$count * $partitions")}
    for mode, (blocking, started) in enumerate(
        (("Send", "Isend"), ("Bsend", "Ibsend"), ("Ssend", "Issend"), ("Rsend", "Irsend"))
    ):
        found[f"MPI_{blocking}"] = _send(mode, "0", _NO_REQUEST)
        found[f"MPI_{started}"] = _send(mode, _STARTS, "$request")
        found[f"MPI_{blocking}_init"] = _send(mode, _PERSISTENT, "$request")
    return found


def _receive_value(flags: str, count: str = "$count") -> str:
    return f"(struct receive){{.comm = $comm, .peer = $source, .tag = $tag, .flags = {flags}, .count = {count}, .type = $datatype}}"


def _receive_started(flags: str, count: str = "$count") -> Pieces:
    return Pieces(
        declare="struct receive receive;",
        before=f"receive = {_receive_value(flags, count)};\nreceive_before(stream, &call, &receive);",
        after="receive_started(stream, &call, &receive, result, $request);",
    )


_CHOOSE = "chosen = status_choose(&place, $LANGUAGE, chosen, receive_wildcard(&receive));"


def _matched_receive(flags: str) -> str:
    """The message's handle is null after the call: its envelope is looked up before."""
    return f"receive = (struct receive){{.flags = {flags}, .count = $count, .type = $datatype}};\nmessage_envelope($message, &receive);"


def _receives() -> dict[str, Pieces]:
    return {
        "MPI_Recv": Pieces(
            declare=f"struct receive receive; {_STATUS}",
            before=f"receive = {_receive_value('0')};\nreceive_before(stream, &call, &receive);\n{_CHOOSE}",
            after="receive_after(stream, &call, &receive, result, &place);",
            arguments={"status": "chosen"},
        ),
        "MPI_Irecv": _receive_started(_STARTS),
        "MPI_Recv_init": _receive_started(_PERSISTENT),
        "MPI_Precv_init": _receive_started(_PARTITIONED, "$count * $partitions"),
        "MPI_Mrecv": Pieces(
            declare="struct receive receive; struct status_place place = {0};",
            before=_matched_receive("0"),
            after="receive_after(stream, &call, &receive, result, &place);",
        ),
        "MPI_Imrecv": Pieces(
            declare="struct receive receive;",
            before=_matched_receive(_STARTS),
            after="receive_started(stream, &call, &receive, result, $request);",
        ),
    }


def _exchange(replace: bool, blocking: bool) -> Pieces:
    there, there_type, back, back_type = (
        ("count", "datatype") * 2 if replace else ("sendcount", "sendtype", "recvcount", "recvtype")
    )
    lines = [
        f"send = (struct send){{.comm = $comm, .peer = $dest, .tag = $sendtag, .flags = {0 if blocking else _STARTS}, .count = ${there}, .type = ${there_type}}};",
        f"receive = (struct receive){{.comm = $comm, .peer = $source, .tag = $recvtag, .count = ${back}, .type = ${back_type}}};",
    ]
    return Pieces(
        declare="struct send send; struct receive receive;" + (" " + _STATUS if blocking else ""),
        before="\n".join([*lines, _CHOOSE] if blocking else lines),
        after=f"exchange_{'after' if blocking else 'started'}(stream, &call, &send, &receive, result, {'&place' if blocking else '$request'});",
        arguments={"status": "chosen"} if blocking else {},
    )


def _probe(test: bool, message: bool) -> Pieces:
    found = "result == MPI_SUCCESS && " + ("$flag" if test else "1")
    remember = f"message_found(&probe, result, {found}, $message, &place);\n" if message else ""
    wildcard = "$source == MPI_ANY_SOURCE || $tag == MPI_ANY_TAG"
    return Pieces(
        declare=f"struct probe probe; {_STATUS}",
        before=f"probe = (struct probe){{.comm = $comm, .peer = $source, .tag = $tag, .test = {int(test)}}};\n"
        f"chosen = status_choose(&place, $LANGUAGE, chosen, {wildcard});",
        after=f"{remember}probe_after(stream, &call, &probe, result, {found}, &place);",
        arguments={"status": "chosen"},
    )


def _completion(
    kind: str,
    test: bool,
    arguments: str,
    count: str = "$count",
    statuses: str = "array_of_statuses",
) -> Pieces:
    requests = "$&request" if count == "1" else "$&array_of_requests"
    handles = f"(struct handles){{{requests}, $LANGUAGE}}"
    return Pieces(
        declare=f"struct completion completion; struct status_place place; void *chosen = $&{statuses};",
        before=f"completion_before(&completion, {count}, {handles}, chosen, &place, {int(test)});\nchosen = completion.statuses;",
        after=f"completion_{kind}(stream, &call, &completion, result, {arguments});",
        arguments={statuses: "chosen"},
    )


def _completions() -> dict[str, Pieces]:
    some = "$outcount, $&array_of_indices"
    return {
        "MPI_Wait": _completion("all", False, "1", "1", "status"),
        "MPI_Test": _completion("all", True, "result == MPI_SUCCESS && $flag", "1", "status"),
        "MPI_Waitall": _completion("all", False, "1"),
        "MPI_Testall": _completion("all", True, "result == MPI_SUCCESS && $flag"),
        "MPI_Waitany": _completion("any", False, "1, $index", "$count", "status"),
        "MPI_Testany": _completion(
            "any", True, "result == MPI_SUCCESS && $flag, $index", "$count", "status"
        ),
        "MPI_Waitsome": _completion("some", False, some, "$incount"),
        "MPI_Testsome": _completion("some", True, some, "$incount"),
    }


def _acting(request: str, action: str) -> Pieces:
    return Pieces(
        declare="uint64_t key;",
        before=f"key = {request};",
        after=f"request_acted(stream, &call, result, key, REQUEST_{action});",
    )


def _starts_and_ends() -> dict[str, Pieces]:
    single, many = (
        "(struct handles){$&request, $LANGUAGE}",
        "(struct handles){$&array_of_requests, $LANGUAGE}",
    )
    return {
        "MPI_Start": Pieces(after=f"start_after(stream, &call, result, 1, {single});"),
        "MPI_Startall": Pieces(after=f"start_after(stream, &call, result, $count, {many});"),
        "MPI_Cancel": _acting(f"request_key({single})", "CANCEL"),
        "MPI_Request_free": _acting(f"request_key({single})", "FREE"),
        # The request is passed by value.
        **dict.fromkeys(
            ("MPI_Pready", "MPI_Pready_range", "MPI_Pready_list"),
            _acting("KEY($request)", "READY"),
        ),
    }


def table() -> dict[str, Pieces]:
    return {
        **_sends(),
        **_receives(),
        "MPI_Sendrecv": _exchange(replace=False, blocking=True),
        "MPI_Sendrecv_replace": _exchange(replace=True, blocking=True),
        "MPI_Isendrecv": _exchange(replace=False, blocking=False),
        "MPI_Isendrecv_replace": _exchange(replace=True, blocking=False),
        "MPI_Probe": _probe(test=False, message=False),
        "MPI_Iprobe": _probe(test=True, message=False),
        "MPI_Mprobe": _probe(test=False, message=True),
        "MPI_Improbe": _probe(test=True, message=True),
        **_completions(),
        **_starts_and_ends(),
    }
