"""The assembly file with one trampoline per symbol, for libtailrace.so."""

from __future__ import annotations

from . import standard


def source() -> str:
    """Lines for trampolines.S: the macro TRAMPOLINE counts the symbols; the names follow in the same order."""
    symbols = standard.all_symbols()
    lines = ['#include "trampoline.h"\n', "TRAMPOLINES_BEGIN\n"]
    lines += [f"TRAMPOLINE {symbol} {number}\n" for number, symbol in enumerate(symbols)]
    lines.append("TRAMPOLINES_END\nNAMES_BEGIN\n")
    lines += [f"NAME {symbol}\n" for symbol in symbols]
    lines.append(f"NAMES_END {len(symbols)}\n")
    return "".join(lines)
