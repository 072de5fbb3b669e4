"""What a report is made of: the plan of a study and its table of runs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tailrace.errors import TailraceError
from tailrace.names import elided, printable
from tailrace.study.analysis import failures, rounding
from tailrace.study.analysis.factors import RANK_KINDS, StudyFactor
from tailrace.study.analysis.failures import Failing, failing
from tailrace.study.analysis.layout import Layout, codes_of, layout
from tailrace.study.analysis.responses import Given, Response, given_by, present, response
from tailrace.study.definition.columns import (
    ANSWERED,
    NOT_RUN,
    READING,
    RUN_TIME,
    SIMULATED_HIGH,
    SIMULATED_LOW,
    RunStatus,
)

LEVEL_WIDTH = 40
# Two random orders of so many combinations are hardly ever the same.
ORDERS_DIFFER_FROM = 5
# Times of a whole run, of which the limit says something.
WHOLE_RUN = (RUN_TIME, "launch_to_end_s")


def has_levels(row: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    """A list stands for any of its levels."""
    return all(row[name] in (of if isinstance(of, list) else [of]) for name, of in where.items())


@dataclass(frozen=True)
class Measured:
    """`runs`: one row per run, as docs/reference/studies.md describes them.

    `plan` is what plan.json holds: name, description, paper, response, factors, study (with
    its [[expect]]). `known_first_runs`: `all_first_runs` of the study that this is a part of.
    """

    plan: Mapping[str, Any]
    runs: pd.DataFrame
    environment: Mapping[str, Any] = field(default_factory=dict)
    known_first_runs: tuple[frozenset[int], ...] | None = None

    @cached_property
    def factors(self) -> list[StudyFactor]:
        return factors_of(self.plan)

    @cached_property
    def done(self) -> pd.DataFrame:
        """The finished runs, and what was simulated; they have the study's response, be it that
        nothing was measured of it."""
        main = self.plan["response"]
        runs = self.runs[self.runs["status"].isin(ANSWERED)].reset_index(drop=True)
        return runs if main in runs else runs.assign(**{main: math.nan})

    @cached_property
    def only_run(self) -> "Measured":
        """Without what was simulated, or was to be."""
        real = ~self.runs["status"].isin(NOT_RUN)
        if real.all():
            return self
        names = [factor.name for factor in self.factors]
        others = set(map(tuple, self.runs.loc[~real, names].astype(object).to_numpy().tolist()))
        kept = [
            combination
            for combination in self.plan.get("combinations", ())
            if tuple(combination["levels"][name] for name in names) not in others
        ]
        return replace(self, plan={**self.plan, "combinations": kept}, runs=self.runs[real])

    @cached_property
    def simulated(self) -> pd.DataFrame:
        """The rows of what was simulated."""
        return self.runs[self.runs["status"] == RunStatus.SIMULATED]

    @property
    def models(self) -> list[str]:
        """The names of the models that it was simulated on."""
        return self.models_of({})

    @property
    def states_computing(self) -> bool:
        """Whether the study says what computing takes where it simulates."""
        return (self.plan["study"].get("run") or {}).get("step_seconds") is not None

    def models_of(self, where: Mapping[str, Any]) -> list[str]:
        """Of the combinations with these levels; a list stands for any of its levels."""
        rows = self.simulated
        if rows.empty:
            return []
        for name, wanted in where.items():
            rows = rows[rows[name].isin(wanted if isinstance(wanted, list) else [wanted])]
        return sorted({printable(str(name)) for name in rows["simulated_on"]})

    @property
    def planned(self) -> int:
        """How many combinations the design has."""
        every = len(self.runs[[factor.name for factor in self.factors]].drop_duplicates())
        return max(len(self.plan.get("combinations", ())), every)

    @cached_property
    def response(self) -> Response:
        return self.response_of(self.plan["response"])

    @cached_property
    def responses(self) -> list[Response]:
        factors = [factor.name for factor in self.factors]
        runs = self.done if self.only_run.done.empty else self.only_run.done
        return present(runs, factors, self.response.column, self.given)

    @cached_property
    def given(self) -> Given:
        return given_by(self.plan["study"])

    def response_of(self, column: str) -> Response:
        return response(column, self.given)

    @cached_property
    def varied(self) -> list[StudyFactor]:
        return [factor for factor in self.factors if len(factor.levels) > 1]

    @cached_property
    def alike(self) -> list[str]:
        """The factors at whose levels runs scatter in ways of their own: the file systems."""
        return [factor.name for factor in self.factors if factor.kind in ("target", "read_target")]

    def factor(self, name: str) -> StudyFactor:
        for factor in self.factors:
            if factor.name == name:
                return factor
        names = ", ".join(factor.name for factor in self.factors)
        raise TailraceError(f"the study has no factor {printable(name)}", f"it has {names}")

    def table(self, column: str | Response | pd.Series) -> Layout:
        """Of a column, of which nothing may have been measured, or of numbers for each finished
        run. A run that did not end in time took at least as long as it was allowed to; one of a
        combination that fails more often than others, at least as long as those that ended."""
        found = replace(self._table(column), balanced=self.is_fraction)
        if isinstance(column, pd.Series):
            return found
        name = column.column if isinstance(column, Response) else column
        return replace(found, thinned=self._thinned(found, name))

    def compared(self, column: str | Response | pd.Series, alone: bool = True) -> Layout:
        """The same, as far as conclusions may be drawn from it: without what first runs of blocks
        surely take longer, and without combinations of which some run has no ratio; and of a rate,
        or of a part of a run, nobody knows which way it is off where runs fail more often than
        elsewhere. `alone`: nothing of another study is compared with it; there it may not be as
        sure that first runs take longer, and they would remain."""
        found = self.table(column)
        name = column.column if isinstance(column, Response) else column
        kept = ~self._without_ratio(found, name)
        if found.thinned is not None and not (isinstance(name, str) and name in WHOLE_RUN):
            kept &= ~found.thinned
        found = found if kept.all() else found.among(kept)
        if self._looked_from:
            found = found.of_adaptive(self._looked_from)
        if isinstance(name, str) and self.lost(name).any():
            found = replace(found, missing=self._missing(found, name))
        return found.without_first_runs if alone else found

    @property
    def _looked_from(self) -> int:
        """After how many blocks it was first asked whether there were enough; 0 where it never
        was."""
        given = self.plan["study"]
        adaptive, least = given.get("adaptive"), int(given.get("repetitions") or 3)
        return least if adaptive and least < adaptive["at_most"] else 0

    def share(self, part: str, whole: str) -> Layout:
        """What one column is of another, as `compared`: known no better than the steps allow in
        which either is printed."""
        found = self.compared(self.column(part) / self.column(whole))
        above, below = (self._margins(found, name) for name in (part, whole))
        return replace(found, rounded=above - below[:, ::-1])

    def _margins(self, found: Layout, name: str) -> np.ndarray:
        """Of the combinations that were found, for the step in which the column is printed."""
        answer, step = np.zeros((len(found.codes), 2)), self.step(name)
        if step:
            own = layout(self.done, self.factors, self.column(name))
            rows = {tuple(codes): row for row, codes in enumerate(own.codes)}
            chosen = [rows[tuple(codes)] for codes in found.codes]
            answer = rounding.margins(own.logs, step)[chosen]
        return answer

    def without_number(self, name: str, where: Mapping[str, Any]) -> int:
        """In how many combinations there some run has a number of 0 or less, of which no ratio can
        be taken."""
        runs = self.done[pd.to_numeric(self.column(name), errors="coerce") <= 0]
        for factor, wanted in where.items():
            levels = wanted if isinstance(wanted, list | tuple) else [wanted]
            runs = runs[runs[factor].isin(levels)]
        return len(np.unique(self._codes(runs), axis=0))

    def _without_ratio(self, table: Layout, name: str | pd.Series) -> np.ndarray:
        """Which combinations have a number of 0 or less, or a level at which there are more."""
        values = self.column(name) if isinstance(name, str) else name
        nothing = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float) <= 0
        if not nothing.any():
            return np.zeros(len(table.codes), dtype=bool)
        codes = self._codes(self.done)
        some = set(map(tuple, codes[nothing].tolist()))
        found = np.array([tuple(row) in some for row in table.codes.tolist()], dtype=bool)
        for position, code in failing(codes, nothing).levels:
            found |= table.codes[:, position] == code
        return found

    def _codes(self, runs: pd.DataFrame) -> np.ndarray:
        return np.column_stack([codes_of(runs[factor.name], factor) for factor in self.factors])

    def all_planned(self, where: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The combinations of the design with these levels, whatever became of their runs; a list
        stands for any of its levels."""
        names = [factor.name for factor in self.factors]
        rows = [
            *(combination["levels"] for combination in self.plan.get("combinations", ())),
            *self.runs[names].drop_duplicates().to_dict("records"),
        ]
        return [row for row in rows if has_levels(row, where)]

    def levels_planned(self, name: str, where: Mapping[str, Any]) -> list[Any]:
        there = {row[name] for row in self.all_planned(where)}
        return [level for level in self.factor(name).levels if level in there]

    def failing(self, name: str) -> Failing:
        """Where runs fail more often than elsewhere, so that they have no such number."""
        return self._failing[self._counts_ended(name)]

    @cached_property
    def _failing(self) -> tuple[Failing, Failing]:
        """Where runs that were ended count as failed, and where they do not."""
        runs = self.runs[~self.runs["status"].isin(NOT_RUN)]
        codes = self._codes(runs)
        lost, ended = _lost(runs), _lost(runs, counts_ended=True)
        return failing(codes, lost), failing(codes, ended)

    def lost(self, name: str) -> np.ndarray:
        """Which of its runs gave no such number, and no limit of it."""
        return _lost(self.runs, self._counts_ended(name))

    @cached_property
    def all_first_runs(self) -> tuple[frozenset[int], ...]:
        """The runs that were the first of their block, and not the only one, however they ended;
        and those that were the first of their block on a target. None where others went before, to
        warm up what they use, nor where nothing was random."""
        if self.known_first_runs is not None:
            return self.known_first_runs
        runs = self._in_order
        if self.plan["study"].get("warm_up") or self.has_one_order:
            return frozenset(), frozenset()
        several = runs[runs.groupby("block")["run"].transform("size") > 1]
        opened = frozenset(several.groupby("block")["run"].first().astype(int))
        return opened, self._first_on_targets(several) if self._targets else frozenset()

    @property
    def first_runs(self) -> frozenset[int]:
        """Those of blocks."""
        return self.all_first_runs[0]

    @property
    def _targets(self) -> list[str]:
        """The factors that say where runs read and write, of which there are several."""
        return [factor.name for factor in self.varied if factor.name in self.alike]

    def _first_on_targets(self, runs: pd.DataFrame) -> frozenset[int]:
        """Those before which no run of their block used one of their targets. Where each run has a
        target of its own, that is all of them, and says nothing."""
        found = set()
        for _, block in runs.groupby("block"):
            used: set[Any] = set()
            for run, *targets in block[["run", *self._targets]].itertuples(index=False):
                if not used.issuperset(targets):
                    found.add(int(run))
                used.update(targets)
        return frozenset(found)

    @cached_property
    def has_one_order(self) -> bool:
        """Whether all blocks ran their combinations in the same order, which no random one is."""
        runs = self._in_order
        rows = pd.DataFrame(self._codes(runs)).groupby(runs["block"].to_numpy())
        orders = [some.to_numpy().tolist() for _, some in rows]
        same = all(one == orders[0] for one in orders)
        return same and len(orders) > 1 and len(orders[0]) >= ORDERS_DIFFER_FROM

    @cached_property
    def _in_order(self) -> pd.DataFrame:
        """What was run, as far as its order is known."""
        runs = self.runs[~self.runs["status"].isin(NOT_RUN)]
        return runs.sort_values("order") if "order" in runs else runs.head(0)

    def opened_most(self, name: str, on_targets: bool = False) -> tuple[Any, int, int]:
        """The level of a factor that most blocks began with, or runs on a target, how many did, and
        of how many."""
        levels = self.runs.loc[self.runs["run"].isin(self.all_first_runs[on_targets]), name]
        counts = {level: int((levels == level).sum()) for level in self.factor(name).levels}
        most = max(counts, key=counts.__getitem__)
        return most, counts[most], len(levels)

    def _thinned(self, table: Layout, name: str) -> np.ndarray:
        found = self.failing(name)
        if not found.thinned.any():
            return np.zeros(len(table.codes), dtype=bool)
        some = set(map(tuple, found.codes[found.thinned].tolist()))
        return np.array([tuple(row) in some for row in table.codes.tolist()], dtype=bool)

    def _missing(self, table: Layout, name: str) -> np.ndarray:
        """By how much the logarithms may be less and more for runs that failed: these may be the
        slowest, and of anything but a run's time nobody knows which way that is."""
        found = self.failing(name)
        rows = zip(found.codes.tolist(), found.counts.tolist(), strict=True)
        lost = {tuple(codes): bad / of for codes, (bad, of) in rows}
        shares = np.array([lost.get(tuple(codes), 0.0) for codes in table.codes.tolist()])
        more = failures.missing(shares, table.deviations)
        return np.column_stack([np.zeros(len(more)) if name in WHOLE_RUN else -more, more])

    def _counts_ended(self, name: str) -> bool:
        """Whether runs that were ended count as the limit."""
        return name in WHOLE_RUN and not self.ended.empty

    def _table(self, column: str | Response | pd.Series) -> Layout:
        name = column.column if isinstance(column, Response) else column
        if isinstance(name, pd.Series):
            return layout(self.done, self.factors, name)
        firsts = self.all_first_runs
        if not self._counts_ended(name):
            bands = _bands(self.done, name)
            found = layout(self.done, self.factors, self.column(name), bands=bands, firsts=firsts)
            return replace(found, step=self.step(name))
        runs = pd.concat([self.done, self.ended.assign(**{name: self.time_limit_s})])
        runs = runs.reset_index(drop=True)
        ended = runs["status"] == RunStatus.TIMEOUT
        found = layout(runs, self.factors, name, ended, _bands(runs, name), firsts)
        return replace(found, step=self.step(name))

    def step(self, name: str) -> float:
        """That in which the program prints its times, where it is coarse."""
        if not self.response_of(name).is_time or not self.simulated.empty:
            return 0.0
        values = pd.to_numeric(self.column(name), errors="coerce")
        return rounding.step_of(values.to_numpy(dtype=float, na_value=np.nan))

    @cached_property
    def ended(self) -> pd.DataFrame:
        """The runs that were ended when their time was over; none where that is not known."""
        late = self.runs[self.runs["status"] == RunStatus.TIMEOUT]
        return late if math.isfinite(self.time_limit_s) else late.head(0)

    @property
    def time_limit_s(self) -> float:
        run = self.plan["study"].get("run") or {}
        return float(run.get("time_limit_s") or math.nan)

    @property
    def is_fraction(self) -> bool:
        """Whether only a fraction of the combinations is run, by design."""
        return bool(self.plan["study"].get("fraction"))

    @property
    def only_factors(self) -> bool:
        """Whether interactions of two are mixed up with the factors themselves, by design."""
        fraction = self.plan["study"].get("fraction") or {}
        return self.is_screening or fraction.get("resolution") == 3

    @property
    def is_screening(self) -> bool:
        """Whether each factor is mixed up with a part of all interactions of others, by design."""
        return bool((self.plan["study"].get("fraction") or {}).get("screening"))

    def column(self, name: str) -> pd.Series:
        """Of the finished runs; NaN where there is no such column."""
        return self.done[name] if name in self.done else pd.Series(math.nan, index=self.done.index)

    @cached_property
    def axis(self) -> StudyFactor | None:
        """What goes along the horizontal axis: ranks or threads, else the numbers with most
        levels."""
        # in a fraction of a design two levels are a factor like others
        least = 2 if self.is_fraction else 1
        ranks = [
            factor
            for factor in self.varied
            if factor.kind in RANK_KINDS and factor.positive and len(factor.levels) > least
        ]
        numbers = [factor for factor in self.varied if factor.positive and len(factor.levels) > 2]
        return next(iter(ranks), None) or max(
            numbers, key=lambda factor: len(factor.levels), default=None
        )


def _lost(runs: pd.DataFrame, counts_ended: bool = False) -> np.ndarray:
    """`counts_ended`: those that were ended count as the limit."""
    fine = [RunStatus.DONE, *([RunStatus.TIMEOUT] if counts_ended else [])]
    return ~runs["status"].isin(fine).to_numpy()


def factors_of(plan: Mapping[str, Any]) -> list[StudyFactor]:
    """What plan.json says of them."""
    is_read = plan.get("response") in READING and not any(
        planned["kind"] == "read_target" for planned in plan["factors"]
    )
    return [replace(_factor(planned), is_read=is_read) for planned in plan["factors"]]


def _bands(runs: pd.DataFrame, name: str) -> pd.DataFrame | None:
    """Between what values each simulated run time lies; None where nothing was simulated."""
    simulated = runs["status"] == RunStatus.SIMULATED
    if name != RUN_TIME or not simulated.any():
        return None
    return runs[[SIMULATED_LOW, SIMULATED_HIGH]].where(simulated)


def _factor(planned: Mapping[str, Any]) -> StudyFactor:
    levels = tuple(planned["levels"])
    texts = planned.get("labels") or [str(level) for level in levels]
    labels = {
        level: elided(printable(str(text)), LEVEL_WIDTH)
        for level, text in zip(levels, texts, strict=True)
    }
    found = StudyFactor(
        planned["name"], planned["kind"], levels, printable(planned.get("unit", "")), labels
    )
    # what falls, rises or crosses does so along the numbers, however a study lists them
    return replace(found, levels=tuple(sorted(levels))) if found.numeric else found
