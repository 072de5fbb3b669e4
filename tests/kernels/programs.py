"""Runs a program by a plan and reads its records, with none of the project's own readers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.kernels.conftest import Solver

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Run:
    """What a program left: its status, its complaint and its records."""

    status: int
    stderr: str
    records: list[dict] = field(default_factory=list)

    def of(self, kind: str, **values: object) -> list[dict]:
        return [
            record
            for record in self.records
            if record["kind"] == kind and all(record[key] == value for key, value in values.items())
        ]

    def fingerprint(self, stream: str, variable: str, step: int, direction: str = "write") -> str:
        (record,) = self.of("fingerprint", stream=stream, step=step, direction=direction)
        return record["values"][variable]


def run_plan(kernels: Solver, program: str, ranks: int, plan: str, directory: Path) -> Run:
    """`plan` without indentation; {directory} in it stands for the directory."""
    lines = [
        line.strip().replace("{directory}", str(directory)) for line in plan.strip().splitlines()
    ]
    plan_file, records_file = directory / f"{program}.plan", directory / f"{program}.records"
    plan_file.write_text("\n".join(lines) + "\n")
    records_file.unlink(missing_ok=True)
    done = kernels.run(ranks, "--plan", plan_file, "--records", records_file, program=program)
    return Run(done.returncode, done.stderr, read_records(records_file))


def read_records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def good_run(kernels: Solver, program: str, ranks: int, plan: str, directory: Path) -> Run:
    run = run_plan(kernels, program, ranks, plan, directory)
    assert run.status == 0, run.stderr
    assert run.records[-1] == {"kind": "end", "status": 0}
    return run


def fingerprint(array: np.ndarray) -> str:
    """kernels/common/fingerprint.h, in numpy."""
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).reshape(-1).view(f"u{width}").astype(np.uint64)
    with np.errstate(over="ignore"):
        x = bits + GOLDEN * np.arange(1, bits.size + 1, dtype=np.uint64)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return f"{int((x ^ (x >> np.uint64(31))).sum(dtype=np.uint64)):016x}"
