"""`tailrace study`: what the user asked for becomes a runner, and what came of it a table."""

import contextlib
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tailrace.errors import TailraceError
from tailrace.names import printable
from tailrace.output import print_json
from tailrace.shipped import STUDIES
from tailrace.study.analysis.grammar import agreeing
from tailrace.study.definition import loader
from tailrace.study.definition.columns import RunStatus
from tailrace.study.definition.setups import setup
from tailrace.study.running import leftovers, plan, targets, testbed
from tailrace.study.running.command_run import CommandRuns
from tailrace.study.running.jobs import Jobs
from tailrace.study.running.mixed_runs import MixedRuns
from tailrace.study.running.plan import Plan
from tailrace.study.running.results import StoppedError
from tailrace.study.running.runner import Executor, Runner
from tailrace.study.running.side_by_side import Processes
from tailrace.study.running.slurm import BatchJobs
from tailrace.study.running.store import PLAN, REPORT, STUDY, Store
from tailrace.terminal import tell
from tailrace.units import count
from tailrace.usage import BAD, DONE, STOPPED


@dataclass(frozen=True)
class StudyOptions:
    """The command line's, as they are given."""

    directory: Path | None = None
    size: str | None = None
    seed: int | None = None
    budget_s: float | None = None
    changes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    keep: bool = False
    report: bool = True
    redo: tuple[int, ...] = ()


def run(word: str, options: StudyOptions) -> int:
    """Makes the runs that are missing; 0 where every combination then has a result."""
    loaded, store = _chosen(word, options)
    try:
        with store.made(), store.lock(), _ending_as_stop(), leftovers.adopted():
            made = plan.make(store, loaded, options.seed, _given(options))
            store.set_aside(options.redo)
            runner = _checked(store, made, options)
            plan.write(store, loaded, made)
            with testbed.environment(made.study.target, runner.targets.directories):
                status = _run(runner, options, _jobs(store, made, options))
    except StoppedError:  # before the first run, or while tables are written
        return STOPPED
    return status if status == STOPPED else _answer(store, options)


def _jobs(store: Store, made: Plan, options: StudyOptions) -> Jobs | None:
    """Where the study wants Slurm, or blocks side by side. Each job is told what this start was
    told."""
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


def run_block(directory: Path, number: int, options: StudyOptions) -> int:
    """What a job does: the missing runs of one block. The study's lock is held by who waits for the
    job."""
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


def _run(runner: Runner, options: StudyOptions, jobs: Jobs | None) -> int:
    try:
        status = _make_runs(runner, options, jobs)
        _write_tables(runner.store, runner.plan)
    except OSError as error:
        raise TailraceError(
            f"{printable(str(error.filename or runner.store.directory))}: {error.strerror}",
            "the runs stored before are intact; continue with"
            f" `tailrace study run {printable(str(runner.store.directory))}`",
        ) from None
    return status


def _make_runs(runner: Runner, options: StudyOptions, jobs: Jobs | None) -> int:
    try:
        # which are on other machines, and may still be under way
        if not isinstance(jobs, BatchJobs):
            runner.clean()
            runner.describe_environment()
        finished = runner.run() if jobs is None else runner.run_in_jobs(jobs)
        if not finished:
            tell("budget exhausted; restart with a larger --budget to continue")
        elif not options.keep:
            runner.targets.remove()
    except (StoppedError, KeyboardInterrupt):
        if jobs is not None:
            jobs.cancel()
        runner.clean()
        tell(
            f"stopped; continue with `tailrace study run {printable(str(runner.store.directory))}`"
        )
        return STOPPED
    return DONE


def _chosen(word: str, options: StudyOptions) -> tuple[loader.Loaded, Store]:
    """The study and its directory: a directory of an earlier start is a study too, and has all that
    was chosen then."""
    changes = dict(loader.parsed_change(text) for text in options.changes)
    if (Path(word) / PLAN).is_file():
        store = Store(Path(word))
        if options.directory is not None or options.size is not None or changes:
            raise TailraceError(
                f"{printable(word)} already holds a study; -o, --size and --set cannot change it",
                f"continue it with `tailrace study run {printable(word)}`, or begin another from"
                " its file",
            )
        values = store.read_json(PLAN)
        return loader.load(
            store.directory / STUDY, values["size"] or None, values["changes"]
        ), store
    loaded = loader.load(STUDIES.find(word), options.size, changes)
    name = "-".join(filter(None, ["study", loaded.study.name, loaded.size]))
    return loaded, Store(options.directory or Path(name))


def _checked(store: Store, made: Plan, options: StudyOptions, block: int | None = None) -> Runner:
    """The runner, of all or of one block, when it is clear that its runs can be made: what would
    fail in all of them is told now.
    """
    study = made.study
    given = made.targets | _given(options)
    places = targets.find(study, given, store.directory, made.identity, made.started_in, block)
    places.check()
    executor = _executor(made, places, options.keep)
    executor.check(
        [setup(study, combination["levels"]) for combination in made.values["combinations"]]
    )
    adaptive = study.adaptive.budget_s if study.adaptive else None
    return Runner(store, made, executor, places, options.budget_s or adaptive)


def _executor(made: Plan, places: targets.Targets, keep: bool) -> Executor:
    if made.study.run.workload is None:
        return CommandRuns(made.study, places, made.started_in, keep)
    from tailrace.study.running.workload_run import WorkloadRuns

    real = WorkloadRuns(made.study, places, made.workload, keep)
    if not made.models:
        return real
    from tailrace.study.running.models import loaded
    from tailrace.study.running.simulated_run import SimulatedRuns

    simulation = SimulatedRuns(made.study, loaded(made.models), made.workload)
    return MixedRuns(real, simulation, made.models)


def _given(options: StudyOptions) -> dict[str, str]:
    pairs = [_pair(text) for text in options.targets]
    names = [name for name, _ in pairs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise TailraceError(
            f"--target names {printable(twice)} twice", "give one directory for each target"
        )
    return dict(pairs)


def _pair(text: str) -> tuple[str, str]:
    name, equals, directory = text.partition("=")
    if not equals or not name or not directory:
        raise TailraceError(
            f"--target {printable(text)!r} is not of the form NAME=DIRECTORY",
            "for example --target nfs=/mnt/nfs",
        )
    return name, directory


@contextlib.contextmanager
def _ending_as_stop() -> Iterator[None]:
    """SIGTERM and SIGHUP end us as Ctrl-C does, between runs too. What is ignored, as by nohup,
    stays so."""

    def stop(_number: int, _frame: object) -> None:
        raise StoppedError

    numbers = (signal.SIGTERM, signal.SIGHUP)
    heard = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_tables(store: Store, made: Plan) -> None:
    from tailrace.study.running import run_tables

    run_tables.write(store, made.study)


def _answer(store: Store, options: StudyOptions) -> int:
    from tailrace.study.library import Study

    study = Study(store)
    if options.report and len(study.runs):
        report([store.directory], False, store.directory / REPORT)
    unavailable = study.runs[study.runs["status"] == RunStatus.UNAVAILABLE]
    if len(unavailable):
        tell(
            f"{count(len(unavailable), 'combination')} cannot be simulated:"
            f" {printable(str(unavailable['reason'].iloc[0]))}"
        )
    answered = study.done[list(study.factors)].drop_duplicates()
    without = len(study.plan["combinations"]) - len(answered) - len(unavailable)
    if without:
        tell(
            f"{without} of {count(len(study.plan['combinations']), 'combination')}"
            f" {agreeing('has', without != 1)} no successful run"
        )
    return BAD if without or not len(answered) else DONE


def report(directories: Sequence[Path], as_json: bool, page: Path | None) -> None:
    """Shows one study, or compares two. Raises TailraceError where a directory holds none."""
    from tailrace.study.library import open_study
    from tailrace.study.report.show import show, show_comparison

    if len(directories) > 2:
        raise TailraceError(
            f"{len(directories)} studies cannot be compared", "give one directory, or two"
        )
    studies = [
        open_study(directory).measured(name)
        for directory, name in zip(directories, distinct_names(directories), strict=True)
    ]
    if len(studies) == 1:
        show(studies[0], as_json, page)
    else:
        show_comparison(studies[0], studies[1], as_json, page)
    if page is not None:
        click.echo(f"page: {printable(str(page))}", err=True)


def distinct_names(directories: Sequence[Path]) -> list[str]:
    """The last parts of the paths, as many as it takes to make them differ; the whole paths where
    they are the same directory."""
    paths = [directory.absolute() for directory in directories]
    longest = max(len(path.parts) for path in paths)
    for length in range(1, longest):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names) and all(len(path.parts) > length for path in paths):
            return names
    return [str(path) for path in paths]


def show_list(as_json: bool) -> int:
    """The studies that come with Tailrace."""
    found = [loader.load(STUDIES.find(name)) for name in STUDIES.names()]
    listed = [_listed(loaded) for loaded in found]
    if as_json:
        print_json(listed)
        return DONE
    from tailrace.terminal import console, table

    rows = table("", "study", "sizes", ">combinations", "description")
    for known in listed:
        rows.add_row(
            known["name"],
            ", ".join(known["sizes"]),
            str(known["combinations"]),
            known["description"],
        )
    console().print(rows)
    return DONE


def _listed(loaded: loader.Loaded) -> dict[str, Any]:
    from tailrace.study.definition.design import combinations

    study = loaded.study
    return {
        "name": study.name,
        "description": study.description,
        "paper": study.paper,
        "runs": study.run.workload or "a command",
        "sizes": list(study.size),
        "default_size": loaded.size,
        "factors": {name: factor.levels for name, factor in study.factor.items()},
        "targets": list(study.target),
        "combinations": len(combinations(study)),
        "repetitions": study.repetitions,
        "expectations": len(study.expect),
    }
