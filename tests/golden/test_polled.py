"""A receive that is polled for: most of its time is between the tests, where the program does not
account for it, so that only what the replay makes of it is looked at."""

from __future__ import annotations

import pytest

from tests.golden import cases, harness

pytestmark = pytest.mark.measured("how long ranks computed and waited")


@pytest.mark.sampled
@pytest.mark.slow
def test_a_receive_from_anyone_is_followed_however_long_it_is_polled_for(mpi, tailrace, tmp_path):
    from tailrace import engine

    case = cases.read(harness.HERE / "polled_wildcard.case")
    program, slowfs = harness.compile_exact(mpi, tmp_path), harness.compile_slowfs(tmp_path)
    run = harness.run_case(case, mpi, program, slowfs, tmp_path / "run", tailrace)
    columns = engine.analyze(run.trace)
    codes = {warning["code"] for warning in columns["warnings"]}
    assert not codes & {"unresolved-wildcards", "unmatched-messages"}
    expected = {quantity: value for _, quantity, value in cases.expected(case, case.ranks)}
    # 0.2 to 0.3 if the match were not found
    found_s = columns["ideal_network_ns"] / 1e9
    assert found_s == pytest.approx(expected["T_net"], abs=0.03)
