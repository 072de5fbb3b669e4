"""The efficiencies follow by arithmetic from the run times, and their product is what the ranks
compute."""

from fractions import Fraction

import numpy as np
import pytest

from tailrace.verdict.efficiencies import (
    Times,
    efficiencies,
    losses,
    pop_efficiencies,
    times_of,
)

from .conftest import serial_master


def times(useful, io, mpi, runtime, net, even, ideal) -> Times:
    return Times(
        runtime,
        net,
        even,
        ideal,
        *(np.array(values, dtype=np.int64) for values in (useful, io, mpi)),
    )


def test_serial_master():
    """T = 10 × 1.75 s; T_even = 10 × (1 + 0.75/4) s = 11.875 s; T_ideal = 10 s."""
    result = efficiencies(times_of(serial_master(4).columns()))
    assert result.load_balance == result.serialization == result.transfer == 1
    assert result.io_balance == pytest.approx(11.875 / 17.5, abs=1e-15)
    assert result.io_transfer == pytest.approx(10 / 11.875, abs=1e-15)
    assert result.io == pytest.approx(10 / 17.5, abs=1e-15)
    assert result.parallel == pytest.approx(10 / 17.5, abs=1e-15)


# useful 4, 2 s of T = 10 s; rank 0 writes 3 s; T_net = 9, T_even = 7.5, T_ideal = 6
MIXED = times((4, 2), (3, 0), (3, 8), 10, 9, Fraction(15, 2), 6)


def test_factors_of_a_mixed_run():
    result = efficiencies(MIXED)
    expected = {
        "load_balance": 3 / 4,
        "serialization": 4 / 6,
        "io_balance": 7.5 / 9,
        "io_transfer": 6 / 7.5,
    }
    expected |= {"transfer": 0.9, "io": 6 / 9, "parallel": 0.3}
    assert {key: getattr(result, key) for key in expected} == pytest.approx(expected, abs=1e-15)


def test_the_product_of_the_five_factors_is_the_parallel_efficiency():
    result = efficiencies(MIXED)
    five = (
        result.load_balance
        * result.serialization
        * result.io_balance
        * result.io_transfer
        * result.transfer
    )
    assert five == pytest.approx(result.parallel, abs=1e-15)


def test_pop_view_holds_io_in_serialization():
    ours, pop = efficiencies(MIXED), pop_efficiencies(MIXED)
    assert (
        pop.serialization
        == pytest.approx(ours.serialization * ours.io, abs=1e-15)
        == pytest.approx(4 / 9)
    )
    assert (
        pop.communication
        == pytest.approx(pop.serialization * pop.transfer, abs=1e-15)
        == pytest.approx(0.4)
    )
    assert (pop.load_balance, pop.transfer) == (ours.load_balance, ours.transfer)


def test_losses_and_useful_time_add_up_to_the_run_time_exactly():
    lost = losses(MIXED)
    parts = (
        lost.imbalance_ns,
        lost.serialization_ns,
        lost.io_transfer_ns,
        lost.io_balance_ns,
        lost.transfer_ns,
    )
    assert parts == (1, 2, Fraction(3, 2), Fraction(3, 2), 1)
    assert MIXED.useful_mean_ns + sum(parts) == MIXED.runtime_ns


def test_nothing_of_nothing_is_lost_nothing():
    """A run that only writes: useful 0, T_ideal 0. Nobody waits for computation; the file system is
    all of the loss."""
    result = efficiencies(times((0,), (5,), (0,), 5, 5, 5, 0))
    assert (result.load_balance, result.serialization, result.io_transfer, result.parallel) == (
        1,
        1,
        0,
        0,
    )


def test_a_contradiction_is_undefined_not_a_crash():
    assert efficiencies(times((1,), (0,), (0,), 0, 0, 0, 0)).parallel is None
