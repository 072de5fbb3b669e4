"""Numbers as people read them: three significant digits and a unit."""

import re

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
NANOSECONDS_PER_SECOND = 1_000_000_000
# The largest number of bytes that the system has a number for.
MOST_BYTES = (1 << 63) - 1


def digits(value: float) -> str:
    """Three significant digits, without an exponent below a million."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def seconds(value: float) -> str:
    """A duration given in seconds."""
    if abs(value) >= 600:
        return f"{value / 60:,.0f} min" if abs(value) < 36_000 else f"{value / 3600:,.1f} h"
    for scale, unit in _TIMES:
        if abs(value) >= scale * 0.9995:
            return f"{digits(value / scale)} {unit}"
    return "0 s" if value == 0 else f"{value / 1e-9:.2f} ns"


def to_seconds(time_ns: float) -> float:
    return float(time_ns) / NANOSECONDS_PER_SECOND


def nanoseconds(value: int) -> str:
    return seconds(int(value) / NANOSECONDS_PER_SECOND)


def byte_count(value: float) -> str:
    """Decimal units: file systems and networks are sold in them."""
    for scale, unit in _BYTES:
        if value >= scale:
            return f"{digits(value / scale)} {unit}"
    return f"{value:.0f} B"


def chosen_bytes(value: int) -> str:
    """A size that somebody chose, exactly: `4 MB`, `64 KiB`."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if value and value % 1024**power == 0:
            return f"{value // 1024**power} {unit}"
    for scale, unit in _BYTES:
        if value >= scale:
            return f"{value / scale:.15g} {unit}"
    return f"{value} B"


def rate(bytes_per_second: float) -> str:
    return f"{byte_count(bytes_per_second)}/s"


def percent(share: float | None) -> str:
    """A share of one, in percent; as many digits as matter near the ends."""
    if share is None:
        return "–"
    value = share * 100
    if value != 0 and abs(value) < 0.1:
        return "< 0.1 %" if value > 0 else "> −0.1 %"
    return f"{value:.0f} %" if value == 0 or abs(value) >= 99.95 else f"{value:.1f} %"


def unbroken(text: str) -> str:
    """A sentence whose numbers keep their units beside them where lines are broken."""
    return re.sub(r"(?<=\d) (?=%|(?:[µmn]?s|min|h|[kMGT]?B)\b)", "\u00a0", text)


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 rank`, `2 ranks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
