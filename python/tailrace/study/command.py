"""`tailrace study`: what the user asked for becomes a runner, and what came of it a table."""

import contextlib
import json
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.run import tell
from tailrace.shipped import STUDIES
from tailrace.study import leftovers, loader, plan, targets, testbed
from tailrace.study.command_run import CommandRuns
from tailrace.study.jobs import Jobs
from tailrace.study.plan import Plan
from tailrace.study.results import StoppedError
from tailrace.study.runner import Executor, Runner
from tailrace.study.setups import setup
from tailrace.study.side_by_side import Processes
from tailrace.study.slurm import BatchJobs
from tailrace.study.store import PLAN, REPORT, STUDY, Store
from tailrace.units import count

DONE, BAD, STOPPED = 0, 1, 130
UNITS_S = {"s": 1, "min": 60, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Options:
    """The command line's, as they are given."""

    directory: Path | None = None
    size: str | None = None
    seed: int | None = None
    budget: str | None = None
    changes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    keep: bool = False
    report: bool = True


def run(word: str, options: Options) -> int:
    """Makes the runs that are missing; 0 where every combination then has a result."""
    loaded, store = _chosen(word, options)
    try:
        with store.made(), store.lock(), _ending_as_stop(), leftovers.adopted():
            made = plan.make(store, loaded, options.seed, _given(options))
            runner = _checked(store, made, options)
            plan.write(store, loaded, made)
            with testbed.environment(made.study.target, runner.targets.directories):
                status = _run(runner, options, _jobs(store, made, options))
    except StoppedError:  # before the first run, or while tables are written
        return STOPPED
    return status if status == STOPPED else _answer(store, options)


def _jobs(store: Store, made: Plan, options: Options) -> Jobs | None:
    """Where the study wants Slurm, or blocks side by side. Each job is told what this start was told."""
    more = [word for text in options.targets for word in ("--target", text)]
    more += ["--keep"] if options.keep else []
    if made.study.slurm is not None:
        jobs: Jobs = BatchJobs(store, made, tuple(more))
    elif made.study.blocks_at_once > 1:
        jobs = Processes(store, made, tuple(more))
    else:
        return None
    jobs.check()
    return jobs


def run_block(directory: Path, number: int, options: Options) -> int:
    """What a job does: the missing runs of one block. The study's lock is held by who waits for the job."""
    store = Store(directory)
    with store.lock(f"block-{number:04}.lock"), _ending_as_stop(), leftovers.adopted():
        runner = _checked(store, plan.stored(store), options, number)
        try:
            with testbed.environment(runner.plan.study.target, runner.targets.directories):
                runner.clean(number)
                runner.describe_environment()
                runner.run_block(number)
        except (StoppedError, KeyboardInterrupt):
            runner.clean(number)
            return STOPPED
    return DONE


def _run(runner: Runner, options: Options, jobs: Jobs | None) -> int:
    try:
        status = _make_runs(runner, options, jobs)
        _write_tables(runner.store, runner.plan)
    except OSError as error:
        raise TailraceError(
            f"{printable(str(error.filename or runner.store.directory))}: {error.strerror}",
            f"what was stored before is whole; `tailrace study run {printable(str(runner.store.directory))}` goes on",
        ) from None
    return status


def _make_runs(runner: Runner, options: Options, jobs: Jobs | None) -> int:
    try:
        if not isinstance(jobs, BatchJobs):  # which are on other machines, and may still be under way
            runner.clean()
            runner.describe_environment()
        finished = runner.run() if jobs is None else runner.run_in_jobs(jobs)
        if not finished:
            tell("the budget is spent; a later start with a larger one goes on")
        elif not options.keep:
            runner.targets.remove()
    except (StoppedError, KeyboardInterrupt):
        if jobs is not None:
            jobs.cancel()
        runner.clean()
        tell(f"stopped; `tailrace study run {printable(str(runner.store.directory))}` goes on")
        return STOPPED
    return DONE


def _chosen(word: str, options: Options) -> tuple[loader.Loaded, Store]:
    """The study and its directory: a directory of an earlier start is a study too, and has all that was chosen then."""
    changes = dict(loader.parsed_change(text) for text in options.changes)
    if (Path(word) / PLAN).is_file():
        store = Store(Path(word))
        if options.directory is not None or options.size is not None or changes:
            raise TailraceError(
                f"{printable(word)} holds a study already: -o, --size and --set are chosen when it is begun",
                f"`tailrace study run {printable(word)}` goes on with it",
            )
        values = store.read_json(PLAN)
        return loader.load(store.directory / STUDY, values["size"] or None, values["changes"]), store
    loaded = loader.load(STUDIES.find(word), options.size, changes)
    name = "-".join(filter(None, ["study", loaded.study.name, loaded.size]))
    return loaded, Store(options.directory or Path(name))


def _checked(store: Store, made: Plan, options: Options, block: int | None = None) -> Runner:
    """The runner, of all or of one block, when it is clear that its runs can be made: what would fail in all of them is
    told now.
    """
    study = made.study
    given = made.targets | _given(options)
    places = targets.find(study, given, store.directory, made.identity, made.started_in, block)
    places.check()
    executor = _executor(made, places, options.keep)
    executor.check([setup(study, cell["levels"]) for cell in made.values["cells"]])
    adaptive = study.adaptive.budget_s if study.adaptive else None
    return Runner(store, made, executor, places, _seconds(options.budget) if options.budget else adaptive)


def _executor(made: Plan, places: targets.Targets, keep: bool) -> Executor:
    if made.study.run.workload is None:
        return CommandRuns(made.study, places, made.started_in, keep)
    from tailrace.study.workload_run import WorkloadRuns

    return WorkloadRuns(made.study, places, made.workload, keep)


def _given(options: Options) -> dict[str, str]:
    return dict(_pair(text) for text in options.targets)


def _pair(text: str) -> tuple[str, str]:
    name, equals, directory = text.partition("=")
    if not equals or not name or not directory:
        raise TailraceError(f"--target {printable(text)!r} is not of the form NAME=DIRECTORY")
    return name, directory


def _seconds(text: str) -> float:
    """`90`, `90s`, `30m`, `1.5h`."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*(s|min|m|h)?", text.strip())
    if not found:
        raise TailraceError(f"--budget {printable(text)!r} is no duration", "as in 90s, 30m or 2h")
    return float(found[1]) * UNITS_S[found[2] or "s"]


@contextlib.contextmanager
def _ending_as_stop() -> Iterator[None]:
    """SIGTERM and SIGHUP end us as Ctrl-C does, between runs too."""

    def stop(_number: int, _frame: object) -> None:
        raise StoppedError

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_tables(store: Store, made: Plan) -> None:
    from tailrace.study import tables

    tables.write(store, made.study)


def _answer(store: Store, options: Options) -> int:
    from tailrace.study import report as reports
    from tailrace.study.library import Study

    study = Study(store)
    if options.report and len(study.runs):
        reports.main([store.directory], False, store.directory / REPORT)
    without = len(study.plan["cells"]) - len(study.done[list(study.factors)].drop_duplicates())
    if without:
        tell(f"{without} of {count(len(study.plan['cells']), 'combination')} have no successful run")
    return BAD if without else DONE


def show_list(as_json: bool) -> int:
    """The studies that come with Tailrace."""
    found = [loader.load(STUDIES.find(name)) for name in STUDIES.names()]
    listed = [_listed(one) for one in found]
    if as_json:
        click.echo(json.dumps(listed, ensure_ascii=False, indent=1))
        return DONE
    from tailrace.text_report import console, table

    rows = table("", "study", "sizes", ">combinations", "what it is")
    for one in listed:
        rows.add_row(one["name"], ", ".join(one["sizes"]), str(one["combinations"]), one["description"])
    console().print(rows)
    return DONE


def _listed(one: loader.Loaded) -> dict[str, object]:
    from tailrace.study.design import cells

    study = one.study
    return {
        "name": study.name,
        "description": study.description,
        "seed": study.seed,
        "runs": study.run.workload or "a command",
        "sizes": list(study.size),
        "default_size": one.size,
        "factors": {name: factor.levels for name, factor in study.factor.items()},
        "targets": list(study.target),
        "combinations": len(cells(study)),
        "repetitions": study.repetitions,
        "expectations": len(study.expect),
    }
