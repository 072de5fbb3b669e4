"""What capture costs a call: `python tests/capture/bench.py [CALLS] [PAIRS]`, one line of JSON per
target. Not a test.

Each line: nanoseconds per pwrite of 8 bytes without and with capture (minima over interleaved pairs
in one process), their difference, the floor (two readings of the counter and a 32-byte store into a
mapped file), and the raw bytes per event.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import rawstream

HERE = Path(__file__).parent
SOURCES = HERE.parent.parent / "capture"


def build(directory: Path) -> tuple[Path, Path]:
    subprocess.run(["make", "-s", "-C", SOURCES, f"BUILD={directory}"], check=True)
    program = directory / "bench_call"
    subprocess.run(["cc", "-O2", "-o", program, HERE / "bench_call.c", "-ldl"], check=True)
    return directory / "libtailrace.so", program


def measure(library: Path, program: Path, target: str, calls: int, pairs: int) -> dict:
    with tempfile.TemporaryDirectory() as directory:
        variables = {
            "LD_PRELOAD": str(library),
            "TAILRACE_RAW": directory,
            "TAILRACE_PROGRAM": str(program.resolve()),
        }
        command = [program, target, str(calls), str(pairs), Path(directory) / "floor"]
        output = subprocess.run(
            command, env=os.environ | variables, check=True, capture_output=True, text=True
        ).stdout
        (stream,) = Path(directory).glob("*.stream")
        figures = json.loads(output)
        data = stream.read_bytes()
        events = rawstream.count_calls(stream)
        figures["raw_bytes_per_event"] = round((len(data) - rawstream.HEADER_BYTES) / events, 2)
        figures["self_calibrated_ns"] = rawstream.read_header(data)["event_cost_ps"] / 1000
        return figures


def main(calls: int = 2_000_000, pairs: int = 10) -> None:
    with tempfile.TemporaryDirectory() as directory:
        library, program = build(Path(directory))
        for target in ("/dev/shm/tailrace-bench", "/dev/null"):
            print(json.dumps(measure(library, program, target, calls, pairs)))
        Path("/dev/shm/tailrace-bench").unlink()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
