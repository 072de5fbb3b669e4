"""Ranks that wait for a processor because client and servers of their file system have it: where
these take less of processors, ranks wait less.

A model says what client and servers take for each call and byte. Ranks that have a processor each
wait for nobody else on a machine that does nothing besides: each second of a processor that client
and servers took made ranks wait for a certain share of it, which the trace and the model of its own
file system tell, and each second that they take after a change does so again. Waits are not taken
to grow where these take more: a few milliseconds for which ranks waited for somebody else would
become seconds.
"""

from __future__ import annotations

from typing import NamedTuple

from tailrace.units import percent, seconds


class Displaced(NamedTuple):
    """`was_s`: what client and servers took of processors in the recorded run, `is_s`: after the
    change. `left`: what is left then of what ranks waited for a processor."""

    was_s: float
    is_s: float
    left: float

    @property
    def words(self) -> str:
        return (
            "ranks wait for a processor because client and servers have it, which take"
            f" {seconds(self.is_s)} of processors, where the run had them take"
            f" {seconds(self.was_s)}: {percent(self.left)} of what ranks waited for one outside of"
            " file calls is left; at worst it stays, and at best it is gone"
        )


def displaced(waited_s: float, was_s: float, is_s: float) -> Displaced:
    """A second that client and servers have a processor keeps one rank waiting for no longer: what
    ranks waited beyond that in all was for somebody else, and stays."""
    theirs = min(was_s / waited_s, 1.0) if waited_s > 0 else 0.0
    less = 1 - min(is_s / was_s, 1.0) if was_s > 0 else 0.0
    return Displaced(was_s, is_s, 1 - theirs * less)
