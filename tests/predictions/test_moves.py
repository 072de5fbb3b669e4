"""Which pairs of places are predicted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from .cases import CASES, Case
from .machine import SLOW_RATE, Bed
from .moves import Place, moves, places

NFS = Bed("nfs", Path("/nfs"), (), "NFS")
LOCAL = Bed("local", Path("/local"), (), "ext4")
SERIAL = Case("roms", "small", 2, "serial", "posix")


def test_two_places_that_differ_in_one_thing_are_a_pair_each_way() -> None:
    other = replace(SERIAL, method="independent")
    found = list(moves([Place(case, bed) for case in (SERIAL, other) for bed in (NFS, LOCAL)]))
    # of four places each has one with another file system and one with another method
    assert Counter(move.kind for move in found) == {"file system": 4, "method": 4}
    assert all((move.kind == "method") == (move.base.bed == move.target.bed) for move in found)


def test_of_slower_links_only_what_that_changes_is_asked() -> None:
    slow = replace(NFS, rate=SLOW_RATE)
    found = list(moves([Place(SERIAL, bed) for bed in (NFS, LOCAL, slow)]))
    assert Counter(move.kind for move in found) == {"file system": 2, "link": 2}
    assert {move.words for move in found if move.kind == "link"} == {
        f"nfs to nfs at {SLOW_RATE}", f"nfs at {SLOW_RATE} to nfs",
    }  # fmt: skip


def test_a_case_is_measured_on_its_own_beds_and_the_first_also_with_slower_links() -> None:
    slow, other = replace(NFS, rate=SLOW_RATE), replace(SERIAL, method="independent")
    found = places([SERIAL, other], [LOCAL, NFS, slow])
    assert found == [
        Place(SERIAL, LOCAL), Place(SERIAL, NFS), Place(SERIAL, slow),
        Place(other, LOCAL), Place(other, NFS),
    ]  # fmt: skip
    on_disk = replace(SERIAL, beds=("local",))
    assert places([on_disk], [LOCAL, NFS, slow]) == [Place(on_disk, LOCAL)]
    over_a_link = replace(SERIAL, beds=("nfs",))
    assert places([over_a_link], [LOCAL, NFS, slow]) == [Place(over_a_link, NFS)]


def test_more_ranks_are_asked_of_all_numbers_below() -> None:
    cases = [replace(SERIAL, ranks=ranks) for ranks in (6, 1, 2, 4, 3)]
    found = list(moves([Place(case, NFS) for case in cases]))
    told = [(move.kind, move.base.case.ranks, move.target.case.ranks) for move in found]
    assert told == [("ranks", 3, 4), ("ranks", 4, 6)]
    cases = [replace(SERIAL, ranks=ranks) for ranks in (1, 2, 3)]
    # a law needs three numbers of ranks, so of three none can be asked
    assert not list(moves([Place(case, NFS) for case in cases]))


def test_on_nodes_only_more_ranks_are_asked_of_and_only_those_of_nodes() -> None:
    there = [replace(SERIAL, ranks=ranks, ranks_per_node=2) for ranks in (2, 4, 8, 16)]
    here = [replace(SERIAL, ranks=ranks) for ranks in (1, 2)]
    assert [case.nodes for case in (*there, *here)] == [1, 2, 4, 8, 0, 0]
    found = list(moves([Place(case, bed) for case in (*there, *here) for bed in (NFS, LOCAL)]))
    told = Counter((move.kind, move.base.case.name, move.target.case.name) for move in found)
    # two places of one rank and two of two differ in the file system; laws are of each bed
    eight, sixteen = there[2].name, there[3].name
    assert told[("ranks", eight, sixteen)] == 2 and "16 on 8 nodes" in sixteen
    assert sum(told.values()) == 6 and all(
        not move.base.case.nodes or move.kind == "ranks" for move in found
    )


def test_longer_links_are_asked_of_as_slower_ones() -> None:
    far = replace(NFS, latency="2ms")
    cases = [SERIAL, replace(SERIAL, method="collective")]
    there, back = (move for move in moves(places(cases, [NFS, far])) if move.kind == "link")
    assert (there.kind, there.words) == ("link", "nfs to nfs at 2ms")
    assert (back.kind, back.words) == ("link", "nfs at 2ms to nfs")


def test_files_that_the_client_knows_already_are_a_change() -> None:
    warm = replace(SERIAL, cache="warm")
    kinds = [move.kind for move in moves([Place(SERIAL, NFS), Place(warm, NFS)])]
    assert kinds == ["cache", "cache"]


def test_the_number_of_ranks_that_write_is_a_change() -> None:
    one, two = (replace(SERIAL, method="aggregated", aggregators=number) for number in (1, 2))
    there, back = moves([Place(one, NFS), Place(two, NFS)])
    assert (there.kind, back.kind) == ("aggregators", "aggregators")
    assert there.words == f"1 of {SERIAL.ranks} to 2 of {SERIAL.ranks} on nfs"
    assert two.options()[-2:] == ["--setting", "writers=2"]
    # another method differs in more than the number of its writers
    assert not list(moves([Place(SERIAL, NFS), Place(two, NFS)]))


def test_short_runs_tell_of_more_ranks_on_each_kind_of_file_system() -> None:
    beds = [NFS, LOCAL, replace(NFS, bed="striped")]
    short = [case for case in CASES if case.workload in {"cgns", "wrf"}]
    found = [move for move in moves(places(short, beds)) if move.kind == "ranks"]
    assert Counter(move.base.bed.bed for move in found) == {"nfs": 5, "striped": 5, "local": 1}
