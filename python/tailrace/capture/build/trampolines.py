"""The assembly file with one trampoline per symbol, for libtailrace.so."""

from __future__ import annotations

from . import standard


def source() -> str:
    """Lines for trampolines.S: the trampolines, then the places of the names and the names, in the
    same order, which is that of strcmp."""
    symbols = standard.all_symbols()
    lines = ['#include "trampoline.h"\n', "TRAMPOLINES_BEGIN\n"]
    lines += [f"TRAMPOLINE {symbol} {number}\n" for number, symbol in enumerate(symbols)]
    lines.append("TRAMPOLINES_END\nNAMES_BEGIN\n")
    lines += [f"PLACE {number}\n" for number in range(len(symbols))]
    lines += [f"NAME {symbol} {number}\n" for number, symbol in enumerate(symbols)]
    lines.append(f"NAMES_END {len(symbols)}\n")
    return "".join(lines)
