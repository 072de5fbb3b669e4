"""`tailrace calibrate`: measures a directory's file system, fits a model, and judges it."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from os.path import abspath
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from tailrace.calibration import programs, several, together
from tailrace.calibration.experiments import ALL, LONG, room
from tailrace.calibration.fit import FULL, Fit
from tailrace.calibration.network import Messages
from tailrace.calibration.probe import MIB, Probe, Samples, Sizes
from tailrace.calibration.programs import Errors
from tailrace.calibration.room import written_per_s
from tailrace.calibration.shared import Shared
from tailrace.calibration.words import of_several, told
from tailrace.errors import TailraceError
from tailrace.names import printable, shown_path
from tailrace.output import check_writable, print_json, write_whole
from tailrace.predict.model import Model, checked_name
from tailrace.predict.model_text import text
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
# Of the budget, where several ranks measure too.
ALONE = 0.4
# A directory in which nothing can be made.
UNFIT = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR)
# Ranks that were ended may still make a file on another node.
GONE_WITHIN_S = 10.0


class Wanted(NamedTuple):
    """What the command line says. `ranks`: None measures by one client only."""

    directory: Path
    output: Path | None
    name: str | None
    ranks: int | None
    mpiexec: str | None
    budget_s: float
    seed: int


class Answer(NamedTuple):
    """`errors`: on all programs that were held out, `several`: what is said of several ranks."""

    model: Model
    errors: Errors
    unknown: list[str]
    several: dict[str, Any] | None


def main(wanted: Wanted, as_json: bool) -> None:
    called = checked_name(wanted.name) if wanted.name is not None else _name(wanted.directory)
    if wanted.output is not None:
        check_writable(wanted.output)  # minutes of measuring come before it is written
    with _place(wanted.directory) as place:
        program = several.find(wanted.ranks, wanted.mpiexec) if wanted.ranks else None
        answer = _answer(called, wanted, place, program)
    measured = _measured_in(wanted.directory)
    written = text(answer.model.model_copy(update={"directory": measured}))
    if wanted.output is not None:
        write_whole(wanted.output, written)
    if as_json:
        beside = {"several": answer.several} if answer.several is not None else {}
        unknown = {"unknown": answer.unknown}
        found = {"schema": 1, "model": written, "held_out": answer.errors}
        print_json(found | unknown | beside)
    elif wanted.output is None:
        print(written, end="")
    _say(wanted.directory, wanted.output, answer)


def _measured_in(directory: Path) -> str | None:
    """Links are not followed: traces have the names that programs used. None where that is no text
    in UTF-8, as models are."""
    path = abspath(directory)  # noqa: PTH100
    return None if any("\ud800" <= character <= "\udfff" for character in path) else path


def _answer(called: str, wanted: Wanted, place: Path, program: several.Program | None) -> Answer:
    begin = time.monotonic()
    sizes = _sizes(place, shutil.disk_usage(place).free)
    share = ALONE if program is not None else 1.0
    rounds, held_out = _rounds(wanted, place, sizes, begin, share * wanted.budget_s)
    source = (
        f"tailrace calibrate {shown_path(wanted.directory)}, {datetime.now(UTC):%Y-%m-%d},"
        f" one client, {len(rounds)} rounds of {byte_count(sizes.bulk)}, seed {wanted.seed}"
    )
    fit = Fit(called, source, rounds, sizes)
    if program is None:
        model, errors = programs.judged(held_out, fit.model)
        return Answer(model, errors, fit.unknown, None)
    files = place / "several"
    files.mkdir()
    left_s = wanted.budget_s - (time.monotonic() - begin)
    measured = several.measure(program, files, sizes.bulk, left_s, wanted.seed)
    return _with_several(fit, held_out, measured)


def _with_several(fit: Fit, held_out: list[programs.Program], measured: several.Several) -> Answer:
    """What several ranks told beside what one client did."""
    shared, messages = Shared(fit.model, measured), Messages(measured)
    of_several = together.held_out(measured)
    source = f"{fit.model.source}; {told(measured)}"
    model = shared.model.model_copy(update={"network": messages.network, "source": source})
    model, errors = programs.judged([*held_out, *of_several], model)
    said = {
        "ranks": measured.ranks,
        "nodes": measured.nodes,
        "rounds": measured.rounds,
        "messages": messages.errors,
        "files": programs.judged(of_several, model)[1] if of_several else None,
    }
    return Answer(model, errors, [*fit.unknown, *shared.unknown, *messages.unknown], said)


def _rounds(
    wanted: Wanted, place: Path, sizes: Sizes, begin: float, budget_s: float
) -> tuple[list[Samples], list[programs.Program]]:
    """Of one client, until its time is over."""
    lot = random.Random(wanted.seed)
    rounds: list[Samples] = []
    held_out = programs.Programs(lot, sizes)
    with progress_bar(f"measuring {printable(str(wanted.directory))}") as progress:
        while _goes_on(len(rounds), time.monotonic() - begin, budget_s):
            rounds.append(_round(len(rounds), place, sizes, lot, held_out))
            spent = (time.monotonic() - begin) / budget_s
            if progress is not None:
                progress(min(max(spent, len(rounds) / MOST_ROUNDS), 1.0))
    return rounds, held_out.done


def _say(directory: Path, output: Path | None, answer: Answer) -> None:
    read, errors = answer.model.bytes_per_s.read.value, answer.errors
    tell(
        f"{printable(str(directory))} writes {byte_count(written_per_s(answer.model))}/s and"
        f" reads {byte_count(read)}/s; of {count(int(errors['runs']), 'program')} that were"
        f" held out, half are predicted to {percent(errors['median_error'])}, the worst to"
        f" {percent(errors['worst_error'])}"
    )
    if answer.several is not None:
        for sentence in of_several(answer.model, answer.several):
            tell(sentence)
    for what in answer.unknown:
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
    held_out: programs.Programs,
) -> Samples:
    samples: Samples = {}
    held_out.begin_round()
    long = LONG if number < LONG_ROUNDS else ()
    order = [*ALL, *long, *[None] * HELD_OUT_A_ROUND]
    lot.shuffle(order)
    for experiment in order:
        with tempfile.TemporaryDirectory(dir=place) as own:
            probe = Probe(Path(own))
            if experiment is None:
                held_out.run(probe)
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
    own = None
    try:
        own = Path(tempfile.mkdtemp(dir=directory, prefix=".tailrace-calibrate-"))
        yield own
    except OSError as error:
        where = printable(str(directory))
        raise TailraceError(
            f"{where} cannot be measured: {error.strerror or os.strerror(error.errno or 0)}",
            _hint(error),
        ) from None
    finally:
        if own is not None:
            _remove(own)
        signal.signal(signal.SIGTERM, before)


def _hint(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"free space there: {byte_count(MOST_BULK * FILES)} are enough"
    if error.errno in UNFIT:
        return "give a directory that you may write to, on the file system in question"
    return (
        "it refused to make, write at any place, read, lock, truncate, rename or remove a file:"
        " programs may fail there as well"
    )


def _remove(place: Path) -> None:
    deadline = time.monotonic() + GONE_WITHIN_S
    shutil.rmtree(place, ignore_errors=True)
    while place.exists() and time.monotonic() < deadline:
        time.sleep(0.2)
        shutil.rmtree(place, ignore_errors=True)
