"""The efficiencies stand once: names, formulas, order and values come from one table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tailrace.verdict.as_json import report
from tailrace.verdict.efficiencies import (
    AVAILABILITY,
    POP_FACTORS,
    QUANTITIES,
    TAILRACE_FACTORS,
    Efficiencies,
    PopEfficiencies,
    times_of,
)

from .conftest import serial_master

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "report.json"


@pytest.mark.parametrize(
    ("table", "record", "key"),
    [(TAILRACE_FACTORS, Efficiencies, "efficiency"), (POP_FACTORS, PopEfficiencies, "pop")],
)
def test_every_view_has_the_factors_of_the_table(table, record, key):
    keys = [factor.key for factor in table]
    assert list(record._fields) == keys
    assert list(report(serial_master(4).columns())[key]) == keys
    assert set(json.loads(SCHEMA.read_text())["properties"][key]["required"]) == set(keys)


def test_a_difference_over_the_run_time_stands_in_brackets():
    """Without them the waits alone would be divided."""
    assert AVAILABILITY.formula == "(T − waits) / T"


def test_the_formula_that_is_shown_is_the_one_that_is_computed():
    columns = serial_master(4).columns()
    times, document = times_of(columns), report(columns)
    for factor in TAILRACE_FACTORS:
        part, whole = (QUANTITIES[name](times) for name in factor.formula.split(" / "))
        assert document["efficiency"][factor.key] == pytest.approx(float(part / whole))


def test_the_product_of_the_factors_is_the_parallel_efficiency():
    values = report(serial_master(4).columns())["efficiency"]
    product = 1.0
    for factor in TAILRACE_FACTORS:
        # `io` is itself the product of the two below it.
        product *= 1.0 if factor.key in ("parallel", "io") else values[factor.key]
    assert product == pytest.approx(values["parallel"])
