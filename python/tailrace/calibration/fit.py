"""From samples of one client to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from tailrace.calibration import among, beside, short_writes
from tailrace.calibration.bucket import bucket
from tailrace.calibration.locking import UNWAITED, are_told, lock_after_write
from tailrace.calibration.probe import MIB, SMALL, Samples, Sizes
from tailrace.calibration.quantities import ENDLESS, at_least, quantity, rate
from tailrace.calibration.room import rates_of_waiting_writes, under_way
from tailrace.calibration.waiting import USUAL
from tailrace.calibration.working import processors
from tailrace.predict.model import (
    KINDS,
    NOTHING,
    Bucket,
    ByteRates,
    CallCosts,
    ClientCache,
    Kind,
    Model,
    Quantity,
)

# Writes wait for room when they are hardly faster than the way to the servers.
FULL = 1.5
# A call that drains takes at least so much of the time for which the bytes are on their way.
DRAINS = 0.5
# A reread that comes from memory takes at most so much of the time of a first one.
FROM_MEMORY = 0.5
# As much is left of what was written when it might have gone.
STAYS = 0.5
# To what a bucket holds and the rates that it has a part in.
STEPS = 5
# Twice the room for two files: the room is each file's.
MORE_ROOM = 1.5
# What the calls take that may wait for writes, where there is nothing to wait for.
BY_THEMSELVES = {
    "open": "open",
    "close": "close",
    "look_up": "look_up",
    "lock": "lock",
    "truncate": "truncate",
    "other": "rename",
    "read": "read_call",
    "synchronize": "synchronize_clean",
    "end": "cached_read",
}


def fetches_unfilled(rounds: Sequence[Samples]) -> bool:
    """Whether a client asks the servers for pages that no write of its own filled. Reading them
    takes then more like a read from there than like one from memory, by what it is a multiple of:
    some come with others."""
    names = ("own_unfilled", "cached_read", "read_call")
    own, cached, fetched = (np.median([each[name] for each in rounds]) for name in names)
    return bool(own / cached > fetched / own)


class Fit:
    """The model, and what could not be told."""

    def __init__(self, name: str, source: str, rounds: list[Samples], sizes: Sizes) -> None:
        self._rounds, self._sizes = rounds, sizes
        self.unknown: list[str] = []
        self._write_rate = float(np.median(self._values("write_rate")))
        cache = self._cache()
        room = cache.write_behind_bytes.value
        self._bucket: Quantity | None = None
        # what it holds and the rates follow from each other: a step changes the one by a small
        # part of what it changed the other
        for _ in range(STEPS):
            rates = self._rates(room)
            self._bucket = bucket(rounds, rates.write.value, rates.copy_in.value)
        rates = self._rates(room)
        if room < MIB:
            self.unknown.append(
                "how much of a write is the client's copying, as it waits until nearly all has"
                " arrived"
            )
        model = Model(
            version=1,
            name=name,
            source=source,
            calls=self._calls(cache),
            bytes_per_s=rates,
            cache=cache,
            bucket=Bucket(bytes=self._bucket) if self._bucket else None,
            processors=processors(rounds, sizes.bulk // MIB * MIB),
        )
        if model.processors is None:
            self.unknown.append(
                "what client and servers take of the processors, as others used them"
            )
        beside_others = (model.calls.arrival_beside, model.calls.arrival_among)
        if model.calls.arrival.value > 0 and None in beside_others:
            self.unknown.append(
                "what writes take to arrive while ranks keep all other cores, or wait for theirs;"
                f" it is measured where there are 2 to {beside.MOST_POLLING + 1} that nobody uses"
            )
        if not short_writes.are_told(rounds):
            self.unknown.append(
                "what short writes of several ranks to one file take, as others used the processors"
            )
        if any(each["lock_refused"] for each in rounds):
            self.unknown.append("what locks take, as the file system refuses them")
        elif not are_told(rounds):
            self.unknown.append(
                "what locks around writes take while ranks keep all processors busy, as others used"
                " them"
            )
        unwaited = lock_after_write(rounds, model, UNWAITED)
        more = {
            # while ranks wait on their processors the client has no more of them
            "lock_after_write": at_least(lock_after_write(rounds, model), unwaited),
            "lock_after_write_unwaited": unwaited,
        }
        self.model = model.model_copy(update={"calls": model.calls.model_copy(update=more)})

    def _rates(self, room: float) -> ByteRates:
        copy_in, write = self._values("copy_rate"), self._steady("write_rate")
        copy_out = self._values("copy_out_rate")
        if room < MIB:
            copy_in, write = rates_of_waiting_writes(write, copy_out, room)
        return ByteRates(
            copy_in=rate(copy_in),
            copy_out=rate(copy_out),
            write=rate(write),
            read=rate(self._steady("read_rate")),
        )

    def _steady(self, name: str) -> np.ndarray:
        """The rate of what goes on: when bulk begins, links have stood idle, and what a bucket
        holds then takes no time."""
        at_once = self._bucket.value if self._bucket else 0.0
        return self._values(name) * max(1 - at_once / self._sizes.bulk, 0.0)

    def _calls(self, cache: ClientCache) -> CallCosts:
        cached_read = self._beyond_bytes("cached_read", "copy_out_rate")
        room_bytes = cache.write_behind_bytes.value
        shared_write, queued = short_writes.shared_write(self._rounds, room_bytes)
        return CallCosts(
            # however fast long reads make its bytes look, it takes what one from memory takes
            read=at_least(self._alone("read_call", "read_rate"), cached_read),
            cached_read=cached_read,
            write=self._beyond_bytes("small_write", "copy_rate"),
            scattered_write=self._more("scattered_write", "small_write"),
            sent_write=self._beyond_bytes("small_sent", "write_rate"),
            sent_scattered_write=self._more("scattered_sent", "small_sent"),
            shared_write=shared_write,
            shared_write_queued=queued,
            arrival=self._arrival(cache),
            arrival_beside=self._arrival_while(beside.SUFFIX, cache),
            arrival_among=self._arrival_while(among.SUFFIX, cache),
            open=self._of("open"),
            create=self._of("create"),
            close=self._of("close"),
            look_up=self._of("look_up"),
            synchronize=self._alone("synchronize_dirty", "write_rate"),
            synchronize_clean=self._of("synchronize_clean"),
            lock=self._of("lock"),
            truncate=self._of("truncate"),
            other=self._either("rename", "remove"),
            attributes=self._either("mode", "times"),
        )

    def _values(self, name: str) -> np.ndarray:
        return np.asarray([samples[name] for samples in self._rounds if name in samples])

    def _of(self, name: str) -> Quantity:
        return quantity(self._values(name))

    def _either(self, *names: str) -> Quantity:
        return quantity(np.concatenate([self._values(name) for name in names]))

    def _beyond_bytes(self, call: str, rate: str) -> Quantity:
        """What a small call takes beyond its bytes at that rate."""
        bytes_s = SMALL / self._values(rate)
        return quantity(np.clip(self._values(call) - bytes_s, 0, None))

    def _alone(self, call: str, rate: str) -> Quantity:
        """The same of a call by itself, before which the way stood idle: what a bucket holds takes
        no time."""
        return self._of(call) if self._bucket else self._beyond_bytes(call, rate)

    def _more(self, call: str, than: str) -> Quantity:
        """What one takes more than the other, in the same round."""
        return quantity(np.clip(self._values(call) - self._values(than), 0, None))

    def _cache(self) -> ClientCache:
        drain_s = self._sizes.bulk / self._write_rate
        room = self._room()
        rereads = self._rereads()
        return ClientCache(
            write_behind_bytes=room,
            room=self._scope(room),
            sends=self._sends(room),
            drains=self._kinds("dirty", room, drain_s),
            end_drains=self._drains("end_dirty", room, drain_s),
            behind_writes=self._kinds("behind", room, drain_s),
            rereads=rereads,
            whole_pages=rereads != "never" and fetches_unfilled(self._rounds),
        )

    def _rereads(self) -> Literal["never", "while_open", "always"]:
        """By long reads or by small ones: a quick disk that is read ahead is as fast as memory, and
        takes its time for a small read all the same."""

        def from_memory(long: str, small: str) -> bool:
            of_small = np.median(self._values(small)) / np.median(self._values("read_call"))
            return bool(min(np.median(self._values(long)), of_small) < FROM_MEMORY)

        if not from_memory("reread", "cached_read"):
            return "never"
        return "always" if from_memory("reread_after", "cached_read_after") else "while_open"

    def _room(self) -> Quantity:
        found = quantity(under_way(self._rounds, self._write_rate))
        # where next to nothing is on its way, late writes are fast as they always are
        if found.value >= MIB and np.median(self._values("late_over_rate")) > FULL:
            self.unknown.append(
                f"how much the client's cache takes beyond {self._sizes.room >> 20} MiB"
            )
            return Quantity(value=ENDLESS, low=float(self._sizes.room), high=ENDLESS)
        return found

    def _scope(self, room: Quantity) -> Literal["mount", "file"]:
        if room.value >= ENDLESS:
            return "mount"
        two = np.median(self._values("under_way_of_two"))
        return "file" if two > MORE_ROOM * room.value else "mount"

    def _sends(self, room: Quantity) -> Literal["at_once", "when_waited_for"]:
        """Only of a cache that was not full, as one that is has to send."""
        stays = np.median(self._values("left_alone")) > STAYS
        return "when_waited_for" if room.value >= ENDLESS and stays else "at_once"

    def _kinds(self, what: str, room: Quantity, drain_s: float) -> tuple[Kind, ...]:
        """The kinds of calls that wait for it."""
        asked = [kind for kind in KINDS if len(self._values(f"{kind}_{what}"))]
        return tuple(kind for kind in asked if self._drains(f"{kind}_{what}", room, drain_s))

    def _arrival(self, cache: ClientCache) -> Quantity:
        """What a call that waits for a small write takes beyond itself and the write's bytes; of
        several kinds of calls, what it is for the one that waits longest."""
        found = [self._beyond_itself(name, "_after_small") for name in _wait_for_small(cache)]
        return max([NOTHING, *found], key=lambda found: found.value)

    def _arrival_while(self, suffix: str, cache: ClientCache) -> Quantity | None:
        """The same while others use the processors, by the kind of call that takes least itself,
        as that takes longer beside them, too; None where it could not be measured."""
        if not any(name.endswith(suffix) for samples in self._rounds for name in samples):
            return None
        names = _wait_for_small(cache)
        told = [name for name in names if len(self._values(name + suffix))]
        if not told:
            return None if names else NOTHING
        return self._beyond_itself(told[0], suffix)

    def _beyond_itself(self, name: str, suffix: str) -> Quantity:
        beyond = [
            each[name + suffix]
            - each[BY_THEMSELVES[name]]
            - (0.0 if self._bucket else SMALL / each["write_rate"])
            for each in self._rounds
            if name + suffix in each
        ]
        return quantity(np.clip(beyond, 0, None))

    def _drains(self, name: str, room: Quantity, drain_s: float) -> bool:
        """Whether the call waits; where less is on its way than what it takes by itself, it has
        nothing to wait for."""
        left_s = drain_s * min(1.0, room.value / self._sizes.bulk)
        by_itself_s = float(np.median(self._values(BY_THEMSELVES[name.rsplit("_", 1)[0]])))
        waited_s = np.median(self._values(name)) - by_itself_s
        return bool(left_s > by_itself_s and waited_s > DRAINS * left_s)


def _wait_for_small(cache: ClientCache) -> list[str]:
    """The usual kinds of calls that wait for what was written, those that take least first."""
    waits = {*cache.drains, *(["end"] if cache.end_drains else [])}
    return [name for name in reversed(USUAL) if name in waits]
