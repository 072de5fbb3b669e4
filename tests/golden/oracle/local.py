"""What time a rank spends by itself: outside of calls, in file calls, and ∫k dt over these."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from itertools import accumulate

from tests.golden.oracle.calls import Call, Recorded
from tests.golden.oracle.opaque import Opaque

# Ideal network; even I/O, in units of 1/P ns; ideal file system.
Clocks = tuple[int, int, int]
Span = tuple[int, int]
NEVER: Clocks = (0, 0, 0)


def latest(*moments: Clocks) -> Clocks:
    return tuple(map(max, zip(*moments, strict=True)))


def later(moment: Clocks, by: Clocks) -> Clocks:
    return tuple(map(sum, zip(moment, by, strict=True)))


class Local:
    """A rank's own time up to any moment."""

    def __init__(
        self, calls: list[Span], files: list[Span], area: Callable[[int], int], ranks: int
    ) -> None:
        self.calls, self.files, self.area, self.ranks = calls, files, area, ranks
        self.begins = [[begin for begin, _ in spans] for spans in (calls, files)]
        self.before = [0, *accumulate(end - begin for begin, end in calls)]
        self.io_before = [0, *accumulate(end - begin for begin, end in files)]
        self.shared_before = [0, *accumulate(area(end) - area(begin) for begin, end in files)]

    def at(self, moment: int) -> Clocks:
        number = bisect.bisect_left(self.begins[0], moment)
        inside = self.before[number]
        if number and self.calls[number - 1][1] > moment:
            inside -= self.calls[number - 1][1] - moment
        useful = moment - inside
        number = bisect.bisect_left(self.begins[1], moment)
        io, shared = self.io_before[number], self.shared_before[number]
        if number and (last := self.files[number - 1][1]) > moment:
            io -= last - moment
            shared -= self.area(last) - self.area(moment)
        return useful + io, useful * self.ranks + shared, useful


def area_of(spans: list[Span]) -> Callable[[int], int]:
    """∫k dt as a function of time, k being how many of the spans are open."""
    changes = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    times, totals, open_now = [0], [0], [0]
    for time, by in changes:
        totals.append(totals[-1] + open_now[-1] * (time - times[-1]))
        times.append(time)
        open_now.append(open_now[-1] + by)

    def area(moment: int) -> int:
        place = bisect.bisect_right(times, moment) - 1
        return totals[place] + open_now[place] * (moment - times[place])

    return area


def union(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def within(span: Span, runtime: int) -> Span:
    """The part of a span that lies in the run."""
    begin, end = (min(max(moment, 0), runtime) for moment in span)
    return begin, end


def merged_within(spans: list[Span], runtime: int) -> list[Span]:
    cut = [within(span, runtime) for span in spans]
    return union([span for span in cut if span[0] < span[1]])


def in_file_call(call: Call, opaque: Opaque) -> Span | None:
    if call.is_of_file:
        return call.begin, call.end
    begin = opaque.begins(call)
    return None if begin is None else (begin, call.end)


def local_times(recorded: Recorded, opaque: Opaque) -> list[Local]:
    """By rank, from its main thread's calls."""
    files = []
    for calls in recorded.main:
        spans = [in_file_call(call, opaque) for call in calls]
        files.append(merged_within([span for span in spans if span], recorded.runtime))
    area = area_of([span for spans in files for span in spans])
    in_calls = [
        merged_within([(call.begin, call.end) for call in calls], recorded.runtime)
        for calls in recorded.main
    ]
    return [
        Local(outside, spans, area, recorded.ranks)
        for outside, spans in zip(in_calls, files, strict=True)
    ]
