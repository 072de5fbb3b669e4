"""Distance: links whose frames take their time, by a process for each (`delay/delay.c`), as many
kernels have no netem."""

from __future__ import annotations

from pathlib import Path

from bed.cell import Cell

SOURCE = Path(__file__).resolve().parent.parent / "delay" / "delay.c"


def command(hub: Cell, directory: Path, latency_us: int | None) -> list[str]:
    """What makes such a link of two devices, to be named behind it, with half of `latency_us`,
    microseconds of a round trip, each way; nothing where that is None."""
    if latency_us is None:
        return []
    program = str(directory / "delay")
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra"]
    hub.run(["cc", *options, "-o", program, str(SOURCE)], environment={"TMPDIR": str(directory)})
    return [program, f"{latency_us / 2:g}"]
