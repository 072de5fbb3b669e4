"""Which nodes a study's ranks are placed on, and how a combination's are."""

import os
from functools import lru_cache

from tailrace.bench.placement import IN_A_JOB, Nodes, Placement
from tailrace.study.definition.model import StudyDefinition
from tailrace.study.definition.setups import Setup
from tailrace.study.running import testbed

CLUSTER = "cluster"


def placement(study: StudyDefinition, setup: Setup) -> Placement | None:
    """None where the launcher places ranks as it likes."""
    if setup.nodes is None:
        return None
    return Placement(setup.nodes, setup.ranks_per_node, nodes(tuple(study.run.hosts)))


@lru_cache(maxsize=1)
def nodes(named: tuple[str, ...]) -> Nodes:
    """Those that the study names; else the batch job's, which the launcher knows; else the test
    bed's."""
    if named or any(os.environ.get(name) for name in IN_A_JOB):
        return Nodes(named)
    bed = testbed.usable(CLUSTER)
    if bed is None:
        return Nodes()
    enter = (str(testbed.COMMAND), "enter", *testbed.directory_words())
    return Nodes(tuple(bed["hosts"]), bed["ssh"], enter)
