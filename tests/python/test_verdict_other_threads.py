"""What is said of the file calls of other threads while the main thread sleeps: programs built by
arithmetic."""

import numpy as np

from tailrace.verdict.evidence import Evidence
from tailrace.verdict.headline import judge
from tests.python.columns import MILLISECOND, SECOND, Program, asleep_for, useful, write

MB = 1_000_000


def small_writes_of_others(spent_ms: int, **meta: str) -> str:
    """1,000 writes of 1 kB by other threads, while the main thread sleeps; the first line."""
    others = {"bytes_by_other_threads": [MB]}
    spent = [spent_ms * MILLISECOND]
    told = asleep_for(0.9, ranks=1, **meta)
    calls = [useful(990 * MILLISECOND), write(10 * MILLISECOND, size=MB)]
    times = (SECOND, SECOND, 990 * MILLISECOND)
    program = Program([calls], *times, overlapped_io_ns=spent, others=others, **told)
    columns = program.columns()
    for table in ("files", "file_rank"):
        columns[table] |= {"writes": np.array([1000]), "writes_small": np.array([1000])}
        columns[table] |= {"bytes_written": np.array([MB])}
        for name in ("write_ns", "writes_small_ns"):
            columns[table][name] = np.array([spent[0]])
    return judge(Evidence(columns)).headline


def test_small_requests_of_others_may_wait_for_a_processor():
    """Of whose waits nothing is known; of those to a file opened with O_SYNC it is."""
    each = "1,000 writes of 1.00 kB on average, 300 µs each: so small, they wait for a device"
    said = small_writes_of_others(300)
    assert said.startswith(f"Other threads move all 1.00 MB and spend 300 ms in file calls ({each}")
    assert "a device, a server or a processor), while the main thread sleeps" in said
    path = write(1).path.decode()
    assert "a device or a server)" in small_writes_of_others(300, opened_synchronous=path)


def test_what_is_a_small_part_of_the_run_does_not_lead_the_first_line():
    """As pigz, whose threads write for 2.7 % of it."""
    assert small_writes_of_others(60).startswith("Other threads move all 1.00 MB")
    said = small_writes_of_others(40)
    assert said.startswith("I/O takes 1.0 % of this run as far as the main thread shows")
    assert "But other threads move all 1.00 MB and spend 40.0 ms in file calls" in said
