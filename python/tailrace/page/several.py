"""What a page shows of several runs beside each other, in order of the table of their scaling."""

from typing import Any

from markupsafe import Markup

from tailrace.page.charts import line_chart
from tailrace.page.picture import MOST_MARKS, timeline_svg
from tailrace.verdict import comparison
from tailrace.verdict.efficiencies import TAILRACE_FACTORS
from tailrace.verdict.explanations import SCALABILITY_NAMES, scaling_words
from tailrace.verdict.scaling import scaling_table
from tailrace.verdict.several import headline_of_several

# More runs than these are not seen side by side.
MOST_TOGETHER = 8


def together(
    traces: list[dict[str, Any]], labels: list[str], **scaling_options: Any
) -> dict[str, Any]:
    """What the template shows of them; `scaling` says in which order the runs stand."""
    scaling = scaling_table(traces, **scaling_options)
    order = scaling["trace_index"]
    ordered = [traces[i] for i in order]
    return {
        "scaling": scaling,
        "scaling_words": scaling_words(scaling),
        "curves": _curves(scaling),
        "together": _pictures(ordered[:MOST_TOGETHER]),
        "comparison": _comparison(ordered),
        "several": headline_of_several(ordered, [labels[i] for i in order], scaling),
        "reference": _reference(scaling),
        "scalability_names": _known(scaling),
    }


def _pictures(traces: list[dict[str, Any]]) -> list[Markup]:
    """The runs' still pictures on one axis."""
    longest_ns = max(int(columns["runtime_ns"]) for columns in traces)
    marks = MOST_MARKS // (2 * len(traces))
    return [timeline_svg(columns, marks=marks, length_ns=longest_ns) for columns in traces]


def _known(scaling: dict[str, Any]) -> dict[str, str]:
    """The scalabilities that some run has: three of them need hardware counters."""
    known = [row["scalability"] for row in scaling["rows"]]
    return {
        key: name
        for key, name in SCALABILITY_NAMES.items()
        if any(values[key] is not None for values in known)
    }


def _reference(scaling: dict[str, Any]) -> int:
    ranks = [row["ranks"] for row in scaling["rows"]]
    return ranks.index(scaling["reference_ranks"])


def _comparison(traces: list[dict[str, Any]]) -> dict[str, Any] | None:
    """What differs between two runs; None for another number of them."""
    if len(traces) != 2:
        return None
    first, second = traces
    return {
        "times": comparison.run_times(first, second),
        "use": comparison.file_use(first, second),
        "functions": comparison.functions(first, second),
        "files": comparison.files(first, second),
    }


def _curves(scaling: dict[str, Any]) -> list[str]:
    """Speedup with its ideal, and the efficiencies, over the number of ranks; none where that is
    the same in all."""
    rows = scaling["rows"]
    ranks = [row["ranks"] for row in rows]
    if len(set(ranks)) == 1:
        return []
    reference = scaling["reference_ranks"]
    speedup = {
        "measured": [row["speedup"] for row in rows],
        "ideal": [rank / reference for rank in ranks],
    }
    shown = ("parallel", "load_balance", "serialization", "io_balance", "io_transfer", "transfer")
    names = {factor.key: factor.name for factor in TAILRACE_FACTORS}
    factors = {names[key]: [row["efficiency"][key] for row in rows] for key in shown}
    factors["Computation scalability"] = [row["scalability"]["computation"] for row in rows]
    return [
        line_chart("Speedup", ranks, speedup),
        line_chart("Efficiencies", ranks, factors, percent=True),
    ]
