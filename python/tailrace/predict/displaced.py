"""Ranks that wait for a processor because client and servers of their file system have it: as these
take more or less of processors, ranks wait more or less.

A model says what client and servers take for each call and byte. Ranks that have a processor each
wait for nobody else on a machine that does nothing besides: each second of a processor that client
and servers took made ranks wait for a certain share of it, which the trace and the model of its own
file system tell, and each second that they take after a change does so again.
"""

from __future__ import annotations

from typing import NamedTuple

from tailrace.predict.waits import Waits
from tailrace.units import seconds


class Displaced(NamedTuple):
    """`was_s`: what client and servers took of processors in the recorded run, `is_s`: after the
    change. `grows`: so many times as long as they did ranks wait for a processor then."""

    was_s: float
    is_s: float
    grows: float

    @property
    def words(self) -> str:
        return (
            "ranks wait for a processor because client and servers have it, for which these take"
            f" {seconds(self.is_s)} of processors instead of {seconds(self.was_s)}: what ranks"
            f" waited for one outside of file calls is taken {self.grows:.2g} times; at worst it"
            " stays, and at best it is gone"
        )


def displaced(waited: Waits, was_s: float, is_s: float) -> Displaced:
    """A second that client and servers have a processor keeps one rank waiting for no longer: what
    ranks waited beyond that was for somebody else, and stays; as nothing tells how much it was for
    these, waits grow no more then. A rank gets at least as much of its processor as others do that
    take it away."""
    theirs = min(was_s / waited.all_s, 1.0) if waited.all_s > 0 else 0.0
    times = is_s / was_s if was_s > 0 else 1.0
    grows = 1 + theirs * (times - 1) if times < 1 or theirs == 1 else 1.0
    outside_s = waited.outside_s
    most = waited.ran_s / outside_s if outside_s > 0 else 1.0
    return Displaced(was_s, is_s, min(grows, max(most, 1.0)))
