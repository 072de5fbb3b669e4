"""`tailrace calibrate`: measures a directory's file system, fits a model, and judges it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import print_json, write_whole
from tailrace.predict.calibration import programs
from tailrace.predict.calibration.experiments import ALL, LONG, room
from tailrace.predict.calibration.fit import FULL, Fit
from tailrace.predict.calibration.probe import MIB, Probe, Samples, Sizes
from tailrace.predict.model import checked_name, text
from tailrace.terminal import progress_bar, tell
from tailrace.units import byte_count, count, percent

LEAST_ROUNDS, MOST_ROUNDS = 3, 30
# One held-out program for two experiments: a third of all runs.
HELD_OUT_A_ROUND = len(ALL) // 2
LEAST_BULK, MOST_BULK = 4 * MIB, 64 * MIB
# Long enough for the clock, short enough for a slow disk.
WANTED_S = 0.25
# To fill the client's cache takes so long at most; what takes long is done so often.
LONGEST_S = 4.0
LONG_ROUNDS = 5
# What lies on the disk at a time: some files of this size.
FILES = 8


def main(
    directory: Path,
    output: Path | None,
    name: str | None,
    budget_s: float,
    seed: int,
    as_json: bool,
) -> None:
    called = checked_name(name) if name is not None else _name(directory)
    begin = time.monotonic()
    lot = random.Random(seed)
    with _place(directory) as place:
        sizes = _sizes(place, shutil.disk_usage(place).free)
        rounds: list[Samples] = []
        held_out: list[programs.HeldOut] = []
        with progress_bar(f"measuring {printable(str(directory))}") as progress:
            while _goes_on(len(rounds), time.monotonic() - begin, budget_s):
                rounds.append(_round(len(rounds), place, sizes, lot, held_out))
                spent = (time.monotonic() - begin) / budget_s
                if progress is not None:
                    progress(min(max(spent, len(rounds) / MOST_ROUNDS), 1.0))
    source = (
        f"tailrace calibrate {directory}, {datetime.now(UTC):%Y-%m-%d}, one client,"
        f" {len(rounds)} rounds of {byte_count(sizes.bulk)}, seed {seed}"
    )
    fit = Fit(called, source, rounds, sizes)
    errors = programs.errors(held_out, fit.model)
    written = text(fit.model)
    if output is not None:
        write_whole(output, written)
    if as_json:
        unknown = {"unknown": fit.unknown}
        print_json({"schema": 1, "model": written, "held_out": errors, **unknown})
    elif output is None:
        print(written, end="")
    _say(directory, output, fit, errors)


def _say(directory: Path, output: Path | None, fit: Fit, errors: dict[str, float]) -> None:
    rates = fit.model.bytes_per_s
    tell(
        f"{printable(str(directory))} writes {byte_count(rates.write.value)}/s and reads"
        f" {byte_count(rates.read.value)}/s; of {count(int(errors['runs']), 'program')} that were"
        f" held out, half are predicted to {percent(errors['median_error'])}, the worst to"
        f" {percent(errors['worst_error'])}"
    )
    for what in fit.unknown:
        tell(f"could not be told: {what}")
    if output is not None:
        tell(f"model: {printable(str(output))}")


def _name(directory: Path) -> str:
    words = "".join(c if c.isalnum() or c in "._+-" else "-" for c in directory.resolve().name)
    return words[:60].strip("-") or "file system"


def _goes_on(rounds: int, spent_s: float, budget_s: float) -> bool:
    if rounds < LEAST_ROUNDS:
        return True
    return rounds < MOST_ROUNDS and spent_s + spent_s / rounds < budget_s


def _round(
    number: int,
    place: Path,
    sizes: Sizes,
    lot: random.Random,
    held_out: list[programs.HeldOut],
) -> Samples:
    samples: Samples = {}
    long = LONG if number < LONG_ROUNDS else ()
    order = [*ALL, *long, *[None] * HELD_OUT_A_ROUND]
    lot.shuffle(order)
    for experiment in order:
        with tempfile.TemporaryDirectory(dir=place) as own:
            probe = Probe(Path(own))
            if experiment is None:
                held_out.append(programs.run(probe, programs.draw(lot, sizes)))
            else:
                samples |= experiment(probe, sizes)
    return samples


def _sizes(place: Path, free: int) -> Sizes:
    """So much at a time that it takes a while to arrive, and so much that the cache is full."""
    most = min(MOST_BULK, free // FILES)
    if most < LEAST_BULK:
        raise TailraceError(
            f"{printable(str(place.parent))} has {byte_count(free)} free, too little to measure it",
            f"free {byte_count(LEAST_BULK * FILES)}",
        )
    bulk, filling, is_full = 0, LEAST_BULK, False
    while filling <= most:
        with tempfile.TemporaryDirectory(dir=place) as own:
            sizes, begin = Sizes(filling, filling), time.monotonic()
            is_full = room(Probe(Path(own)), sizes)["late_over_rate"] < FULL
            took_s = time.monotonic() - begin
        bulk = filling if not bulk and took_s >= WANTED_S else bulk
        if is_full or took_s > LONGEST_S:
            break
        filling *= 2
    filling = min(filling, most)
    # twice as much as it took to see it full: most of the late writes wait
    return Sizes(bulk or filling, min(2 * filling, most) if is_full else filling)


@contextmanager
def _place(directory: Path) -> Iterator[Path]:
    """A directory of our own there, which is gone afterwards however this ends but by SIGKILL."""

    def ended(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, ended)
    try:
        with tempfile.TemporaryDirectory(dir=directory, prefix=".tailrace-calibrate-") as own:
            yield Path(own)
    except OSError as error:
        where = printable(str(directory))
        raise TailraceError(
            f"{where} cannot be measured: {error.strerror or os.strerror(error.errno or 0)}",
            "give a directory that you may write to, on the file system in question",
        ) from None
    finally:
        signal.signal(signal.SIGTERM, before)
