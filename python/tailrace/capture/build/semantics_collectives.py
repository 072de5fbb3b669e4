"""Collectives: who waits for whom, and whose counts mean how many bytes."""

from __future__ import annotations

from dataclasses import dataclass

from .pieces import Pieces


@dataclass(frozen=True)
class Amount:
    """One side's bytes. ``kind`` as enum amount_kind; the other fields name parameters. ``buffer``:
    where MPI_IN_PLACE there makes count and type meaningless."""

    kind: str
    buffer: str = ""
    count: str = ""
    type: str = ""
    who: str = "BY_ALL"

    def text(self) -> str:
        if self.kind == "NONE":
            return "{.kind = AMOUNT_NONE}"
        fields = [f".kind = AMOUNT_{self.kind}", f".who = {self.who}"]
        if self.buffer:
            fields.append(f".buffer = $&{self.buffer}")
        lists = self.kind in ("LIST", "TYPES", "OWN")
        fields.append(
            f".counts = $&{self.count}, .wide = $WIDE" if lists else f".count = ${self.count}"
        )
        fields.append(
            f".types = $&{self.type}" if self.kind == "TYPES" else f".type = ${self.type}"
        )
        return "{" + ", ".join(fields) + "}"


_NONE = Amount("NONE")
_SEND_ONE = Amount("ONE", "sendbuf", "sendcount", "sendtype")
_SEND_EACH = Amount("EACH", "sendbuf", "sendcount", "sendtype")
_SEND_LIST = Amount("LIST", "sendbuf", "sendcounts", "sendtype")
_SEND_TYPES = Amount("TYPES", "sendbuf", "sendcounts", "sendtypes")
_RECEIVE_EACH = Amount("EACH", "recvbuf", "recvcount", "recvtype")
_RECEIVE_LIST = Amount("LIST", "recvbuf", "recvcounts", "recvtype")
_RECEIVE_TYPES = Amount("TYPES", "recvbuf", "recvcounts", "recvtypes")
_GIVEN = _RESULT = Amount("ONE", "", "count", "datatype")


def _by(who: str, amount: Amount) -> Amount:
    return Amount(amount.kind, amount.buffer, amount.count, amount.type, who)


@dataclass(frozen=True)
class Collective:
    flow: str
    sent: Amount = _NONE
    received: Amount = _NONE
    rooted: bool = False


# A gather's root gives too (unless in place), a broadcast's does not get.
_COLLECTIVES = {
    "barrier": Collective("ALL"),
    "bcast": Collective(
        "FROM_ROOT",
        Amount("ONE", "buffer", "count", "datatype", "BY_ROOT"),
        Amount("ONE", "buffer", "count", "datatype", "BY_OTHERS"),
        True,
    ),
    "gather": Collective("TO_ROOT", _SEND_ONE, _by("BY_ROOT", _RECEIVE_EACH), True),
    "gatherv": Collective("TO_ROOT", _SEND_ONE, _by("BY_ROOT", _RECEIVE_LIST), True),
    "scatter": Collective(
        "FROM_ROOT",
        _by("BY_ROOT", _SEND_EACH),
        Amount("ONE", "recvbuf", "recvcount", "recvtype"),
        True,
    ),
    "scatterv": Collective(
        "FROM_ROOT",
        _by("BY_ROOT", _SEND_LIST),
        Amount("ONE", "recvbuf", "recvcount", "recvtype"),
        True,
    ),
    "allgather": Collective("ALL", _SEND_ONE, _RECEIVE_EACH),
    "allgatherv": Collective("ALL", _SEND_ONE, _RECEIVE_LIST),
    "alltoall": Collective("ALL", _SEND_EACH, _RECEIVE_EACH),
    "alltoallv": Collective("ALL", _SEND_LIST, _RECEIVE_LIST),
    "alltoallw": Collective("ALL", _SEND_TYPES, _RECEIVE_TYPES),
    "reduce": Collective("TO_ROOT", _GIVEN, _by("BY_ROOT", _RESULT), True),
    "allreduce": Collective("ALL", _GIVEN, _RESULT),
    "reduce_scatter": Collective(
        "ALL",
        Amount("LIST", "", "recvcounts", "datatype"),
        Amount("OWN", "", "recvcounts", "datatype"),
    ),
    "reduce_scatter_block": Collective(
        "ALL",
        Amount("EACH", "", "recvcount", "datatype"),
        Amount("ONE", "", "recvcount", "datatype"),
    ),
    "scan": Collective("PREFIX", _GIVEN, _RESULT),
    "exscan": Collective("EXCLUSIVE_PREFIX", _GIVEN, _RESULT),
    "neighbor_allgather": Collective("NEIGHBOURS", _SEND_ONE, _RECEIVE_EACH),
    "neighbor_allgatherv": Collective("NEIGHBOURS", _SEND_ONE, _RECEIVE_LIST),
    "neighbor_alltoall": Collective("NEIGHBOURS", _SEND_EACH, _RECEIVE_EACH),
    "neighbor_alltoallv": Collective("NEIGHBOURS", _SEND_LIST, _RECEIVE_LIST),
    "neighbor_alltoallw": Collective("NEIGHBOURS", _SEND_TYPES, _RECEIVE_TYPES),
}


def _pieces(collective: Collective, flags: str, request: str) -> Pieces:
    fields = [
        f".comm = $comm, .flow = FLOW_{collective.flow}, .flags = {flags}, .language = $LANGUAGE"
    ]
    fields.append(".rooted = 1, .root = $root" if collective.rooted else ".rooted = 0")
    fields += [f".sent = {collective.sent.text()}", f".received = {collective.received.text()}"]
    return Pieces(
        declare="struct collective collective;",
        before=f"collective = (struct collective){{{', '.join(fields)}}};\ncollective_before(stream, &call, &collective);",
        after=f"collective_after(stream, &call, &collective, result, {request});",
    )


def table() -> dict[str, Pieces]:
    found = {}
    for name, collective in _COLLECTIVES.items():
        found[f"MPI_{name.capitalize()}"] = _pieces(collective, "0", "predefined.request_null")
        found[f"MPI_I{name}"] = _pieces(collective, "FLAG_STARTS", "$request")
        found[f"MPI_{name.capitalize()}_init"] = _pieces(
            collective, "FLAG_STARTS | FLAG_PERSISTENT", "$request"
        )
    return found
