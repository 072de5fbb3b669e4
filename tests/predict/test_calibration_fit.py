"""From samples to a model: clients that keep nothing back, disks as quick as memory, and calls that
have nothing to wait for."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

import pytest

from tailrace import engine
from tailrace.calibration.command import _place
from tailrace.calibration.experiments import AFTER_A_PAUSE, _synchronizing, metadata
from tailrace.calibration.fit import Fit
from tailrace.calibration.probe import KIB, MIB, SMALL, Probe, Samples, Sizes
from tailrace.calibration.quantities import ENDLESS
from tailrace.calibration.room import written_per_s
from tailrace.calibration.waiting import BEHIND, UNUSUAL, USUAL, behind_writes
from tailrace.errors import TailraceError
from tailrace.predict.conformance import broken_promises
from tailrace.units import to_seconds

CALL_S, SMALL_READ_S = 1e-6, 2e-6
RATE, COPY_OUT = 100e6, 1e9
SIZES = Sizes(4 * MIB, 4 * MIB)


def without_a_cache(**more: float) -> Samples:
    """Each write takes its bytes at RATE, and is there when it returns; every call takes 1 µs."""
    alone = ("create", "open", "close", "look_up", "lock", "truncate", "rename", "remove")
    alone += ("mode", "times")
    waits = [f"{kind}_dirty" for kind in (*USUAL, *UNUSUAL)] + [f"{kind}_behind" for kind in BEHIND]
    return {
        **dict.fromkeys([*alone, *waits], CALL_S),
        **{f"{kind}_after_small": CALL_S for kind in USUAL},
        **{f"after_pause_{size}": size / RATE + CALL_S for size in (SMALL, *AFTER_A_PAUSE)},
        "synchronize_clean": CALL_S,
        "synchronize_dirty": CALL_S,
        "lock_refused": 0.0,
        "small_write": SMALL / RATE,
        "small_sent": 0.0,
        "scattered_write": SMALL / RATE,
        "scattered_sent": 0.0,
        "write_rate": RATE,
        "copy_rate": RATE,
        "under_way": RATE * CALL_S,
        "under_way_of_two": RATE * CALL_S,
        "late_over_rate": 1.0,
        "left_alone": 0.0,
        "read_rate": COPY_OUT,
        "copy_out_rate": COPY_OUT,
        "reread": 1.0,
        "reread_after": 1.0,
        "read_call": SMALL_READ_S,
        "cached_read": SMALL_READ_S,
        "cached_read_after": SMALL_READ_S,
        "own_unfilled": SMALL_READ_S,
        **more,
    }


def fitted(**more: float) -> Fit:
    return Fit("fitted", "by hand", [without_a_cache(**more)] * 3, SIZES)


def test_what_a_bucket_gave_at_once_is_no_part_of_the_rate() -> None:
    """4 MiB of which 128 KiB take no time look faster, by 3 %; a bucket then gave them twice: by
    that rate, and at once."""
    kept, bulk_s = 128 * KIB, (SIZES.bulk - 128 * KIB) / RATE
    pauses = {size: max(size - kept, 0) / RATE + CALL_S for size in (SMALL, *AFTER_A_PAUSE)}
    model = fitted(
        **{f"after_pause_{size}": taken_s for size, taken_s in pauses.items()},
        **dict.fromkeys(("write_rate", "read_rate"), SIZES.bulk / bulk_s),
        under_way=2.0 * MIB,
        copy_rate=1e15,
    ).model
    assert model.bucket is not None
    assert model.bucket.bytes.value == pytest.approx(kept, rel=0.001)
    rates = model.bytes_per_s
    assert [rates.write.value, rates.read.value] == pytest.approx([RATE, RATE], rel=0.001)


@pytest.mark.parametrize("size", [SMALL, MIB, 16 * MIB])
def test_a_write_that_waits_for_its_arrival_takes_what_was_measured(size: int) -> None:
    """Not its bytes twice: once into a cache that keeps nothing, and once to the servers."""
    fit = fitted()
    taken = engine.model_times(fit.model.parameters(), [("write", 0, 0, size)])
    assert to_seconds(taken[0]) == pytest.approx(size / RATE, rel=0.01)
    assert written_per_s(fit.model) == pytest.approx(RATE)
    assert any("the client's copying" in words for words in fit.unknown)


def test_late_writes_that_are_fast_fill_no_cache_where_nothing_is_on_its_way() -> None:
    """A busy machine makes the first writes of a file in memory slow, and so the late ones fast."""
    assert fitted(late_over_rate=2.0).model.cache.write_behind_bytes.value == 0
    kept = {"under_way": 2.0 * MIB, "copy_rate": COPY_OUT}
    assert fitted(late_over_rate=2.0, **kept).model.cache.write_behind_bytes.value == ENDLESS


def test_what_stays_in_a_cache_without_end_goes_when_it_is_waited_for() -> None:
    """A cache that was full sends what it has, whoever waits."""
    kept = {"under_way": 2.0 * MIB, "under_way_of_two": 2.0 * MIB, "copy_rate": COPY_OUT}
    assert fitted(**kept, late_over_rate=2.0, left_alone=0.9).model.cache.sends == "when_waited_for"
    assert fitted(**kept, late_over_rate=2.0, left_alone=0.1).model.cache.sends == "at_once"
    assert fitted(**kept, late_over_rate=1.0, left_alone=0.9).model.cache.sends == "at_once"


def test_what_fsync_takes_by_itself_is_no_room() -> None:
    assert fitted().model.cache.write_behind_bytes.value == 0
    slow = {"synchronize_dirty": 0.01, "synchronize_clean": 0.01}
    kept = fitted(**slow, under_way=RATE * 0.03, copy_rate=COPY_OUT).model.cache
    assert kept.write_behind_bytes.value == pytest.approx(RATE * 0.02)


def test_calls_that_have_nothing_to_wait_for_do_not_wait() -> None:
    cache = fitted().model.cache
    assert (cache.drains, cache.end_drains, cache.behind_writes) == ((), False, ())


def test_calls_wait_for_what_is_on_its_way() -> None:
    """2 MiB at 100 MB/s are 21 ms; a look-up that takes as long waits, one of 1 µs does not."""
    kept = {"under_way": 2.0 * MIB, "under_way_of_two": 2.0 * MIB, "copy_rate": COPY_OUT}
    cache = fitted(**kept, look_up_dirty=0.021, read_behind=0.021).model.cache
    assert (cache.drains, cache.end_drains, cache.behind_writes) == (("look_up",), False, ("read",))


def test_what_is_fitted_keeps_what_every_model_promises() -> None:
    """Of a small read that takes less than its bytes at the rate of long ones nothing is left; one
    from memory takes more than that."""
    small = {"read_call": 10e-6, "cached_read": 4e-6, "cached_read_after": 4e-6}
    model = fitted(**small, read_rate=RATE, copy_out_rate=10 * COPY_OUT).model
    assert model.cache.rereads == "always"
    assert broken_promises(model) == []


def test_making_a_file_is_told_from_opening_it() -> None:
    """On a network file system it takes five times as long: what lies between is neither."""
    model = fitted(create=5e-3, open=1e-3).model
    calls = [("create", 0, 0, 0), ("open", 0, 0, 0), ("open", 1, 0, 0)]
    taken = [to_seconds(time) for time in engine.model_times(model.parameters(), calls)]
    assert taken == pytest.approx([5e-3, 1e-3, 1e-3])


def test_what_leaves_a_name_is_told_from_what_changes_it() -> None:
    """Archives are unpacked by more calls that set modes and times than by any others."""
    model = fitted(rename=5e-3, remove=5e-3, mode=1e-4, times=1e-4).model
    taken = engine.model_times(model.parameters(), [("other", 0, 0, 0), ("attributes", 1, 0, 0)])
    assert [to_seconds(time) for time in taken] == pytest.approx([5e-3, 1e-4])


def test_calls_on_names_are_made_on_several_files_one_kind_after_another(tmp_path: Path) -> None:
    samples = metadata(Probe(tmp_path), SIZES)
    kinds = {"create", "open", "close", "look_up", "truncate", "mode", "times", "rename", "remove"}
    assert kinds <= set(samples) and not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("again_s", "after_s", "rereads"),
    [
        (SMALL_READ_S, SMALL_READ_S, "never"),
        (CALL_S / 10, SMALL_READ_S, "while_open"),
        (CALL_S / 10, CALL_S / 10, "always"),
    ],
)
def test_small_reads_tell_a_cache_where_long_ones_are_as_fast(
    again_s: float, after_s: float, rereads: str
) -> None:
    model = fitted(cached_read=again_s, cached_read_after=after_s, own_unfilled=again_s).model
    assert model.cache.rereads == rereads


def test_a_file_system_without_locks_is_measured_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "lockf", refused)
    samples = metadata(Probe(tmp_path), SIZES) | behind_writes(Probe(tmp_path), SIZES)
    assert samples["lock_refused"] == 1
    assert "what locks take, as the file system refuses them" in fitted(lock_refused=1.0).unknown


def test_small_writes_are_synchronised_several_times_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As programs do that synchronise at all: one slow one is one of several."""
    calls = iter(range(1000))
    monkeypatch.setattr(os, "fsync", lambda file: time.sleep(0.08 if next(calls) == 0 else 0))
    assert 0.01 <= _synchronizing(Probe(tmp_path)) < 0.04


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EACCES, "that you may write to"),
        (errno.ENOSPC, "free space"),
        (errno.EDQUOT, "free space"),
        (errno.ESPIPE, "programs may fail there as well"),
    ],
)
def test_the_hint_fits_what_failed(tmp_path: Path, number: int, hint: str) -> None:
    with pytest.raises(TailraceError) as raised, _place(tmp_path):
        raise OSError(number, "no")
    assert hint in (raised.value.hint or "")
    assert not any(tmp_path.iterdir())
