"""What a fraction of a design cannot tell apart, in words: where either of several may be the
cause, all of them are named and none alone. Interactions of three are not named one by one.
"""

from collections.abc import Sequence

from tailrace.study.analysis import words
from tailrace.study.analysis.effect import Effect
from tailrace.study.analysis.measured import Measured
from tailrace.study.definition.model import Expect, Fraction

# In a sentence; all stand in the evidence.
SHOWN = 3


def is_ambiguous(study: Measured, effect: Effect) -> bool:
    """Whether what looks like this effect may be another."""
    return study.is_fraction and bool(effect.aliases or _is_screened(study, effect))


def suspects(study: Measured, effect: Effect) -> str:
    """All that may be the cause: `f3, f0 × f1 or f4 × f5 matters`."""
    own, others = _crossed(effect.factors), list(map(_crossed, effect.aliases))
    if _is_screened(study, effect):
        return f"{own} or interactions of other factors matter"
    if len(others) > SHOWN + 1:
        others[SHOWN:] = [f"one of {len(others) - SHOWN} other interactions"]
    others += ["an interaction of three"] if effect.may_be_three else []
    return f"{words.joined([own, *others], 'or')} matters"


def unless(study: Measured, effect: Effect) -> str:
    """What must be said of an effect of which the only other cause may be three factors."""
    alone = not is_ambiguous(study, effect)
    return ", unless three others act together" if alone and effect.may_be_three else ""


def noted(study: Measured, effect: Effect) -> str:
    """For the evidence."""
    if not study.is_fraction:
        return ""
    three = "interactions of three factors are not told apart"
    if effect.aliases:
        others = ", ".join(map(_crossed, effect.aliases))
        return f"; this design cannot tell it from {others}; {three}"
    if _is_screened(study, effect):
        return f"; this design mixes it up with parts of all interactions of other factors; {three}"
    return f"; {three}"


def hidden(study: Measured, effect: Effect) -> str:
    """What must be said before a factor is said not to matter: an interaction may cancel it."""
    mixed = is_ambiguous(study, effect) or effect.may_be_three
    return "unless an interaction hides it, " if mixed else ""


def undecided(study: Measured, expect: Expect) -> str:
    """Why a fraction decides nothing of a statement: it compares levels of so many factors that
    the design mixes up with interactions of two. Nothing where it may decide."""
    mixed = _compared(study, expect)
    if not mixed or len(mixed) < _resolution(study) - 2:
        return ""
    return f"; this design cannot tell {words.joined(mixed)} from interactions of other factors"


def unless_three(study: Measured, expect: Expect) -> str:
    """What must be said of a statement that a fraction decides, but mixes up with interactions of
    three."""
    mixed = _compared(study, expect)
    if not mixed or len(mixed) != _resolution(study) - 3:
        return ""
    return "; unless three others act together"


def _compared(study: Measured, expect: Expect) -> list[str]:
    """The factors of the fraction whose levels are compared; none where all of them were run."""
    if not study.is_fraction:
        return []
    if expect.everywhere:
        return _fraction_factors(study)
    return sorted(name for name in _named(expect) if _is_mixed(study, (name,)))


def _resolution(study: Measured) -> int:
    return 3 if study.is_screening else _fraction(study).resolution


def _named(expect: Expect) -> set[str]:
    of_tables = (getattr(table, "factor", None) for table in expect.given.values())
    lists = {name for name, wanted in expect.where.items() if isinstance(wanted, list)}
    return ({*expect.named} | {str(name) for name in of_tables if name is not None}) - lists


def _fraction(study: Measured) -> Fraction:
    return Fraction.model_validate(study.plan["study"]["fraction"])


def _fraction_factors(study: Measured) -> list[str]:
    """Those of whose combinations only a fraction is run."""
    two = [factor.name for factor in study.factors if len(factor.levels) == 2]
    return list(_fraction(study).factors) or two


def _is_mixed(study: Measured, names: Sequence[str]) -> bool:
    return not set(names).isdisjoint(_fraction_factors(study))


def _is_screened(study: Measured, effect: Effect) -> bool:
    return study.is_screening and _is_mixed(study, effect.factors)


def _crossed(names: Sequence[str]) -> str:
    return " × ".join(map(words.spaced, names))
