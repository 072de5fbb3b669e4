"""The linear model of the logarithms: factors, interactions of two, and of three where asked for.

Sum-to-zero coding; an interaction's columns are the products of its factors' columns. What the
combinations that were left out keep from being told apart is left out too: a term is then what can
be told of it beside those before it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from scipy import linalg

# An interaction of more coefficients is not looked at: nobody reads it, and fitting it takes
# minutes.
COEFFICIENTS_AT_MOST = 500
ALIASED = 0.5


@dataclass(frozen=True)
class Term:
    """Columns of the model that belong together, and the codings they came from (levels × columns
    each). `partial`: the columns are only what can be told of it where combinations are missing."""

    positions: tuple[int, ...]
    columns: np.ndarray
    codings: tuple[np.ndarray, ...]
    levels: tuple[np.ndarray, ...]
    partial: bool = False


@dataclass(frozen=True)
class Model:
    """`rows`: of each term, the weights of the combinations' means that give its coefficients.
    `basis`: orthonormal, of all that the model can say. `left_out`: what cannot be told apart."""

    terms: tuple[Term, ...]
    rows: tuple[np.ndarray, ...]
    basis: np.ndarray
    left_out: tuple[tuple[int, ...], ...]

    def aliases(self, term: Term, codes: np.ndarray) -> list[tuple[int, ...]]:
        """The interactions left out that a fraction of a design mixes up with a term, so that
        either may be the cause: those whose columns go with the term's own at least by half."""
        found = []
        for positions in self.left_out:
            other = _term(codes, positions)
            if other is not None and _correlation(term.columns, other.columns) > ALIASED:
                found.append(positions)
        return found


def of_three(codes: np.ndarray, columns: np.ndarray) -> bool:
    """Whether three factors of two levels that act together would look, at least by half, like what
    these columns say."""
    two = [column for column in codes.T if len(np.unique(column)) == 2]
    signs = [np.where(column == column.min(), -1.0, 1.0) for column in two]
    if len(signs) < 3:
        return False
    together = np.array([a * b * c for a, b, c in combinations(signs, 3)])
    away = together @ columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    return bool(np.any(np.abs(away) > ALIASED * math.sqrt(len(codes))))


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    norms = np.linalg.norm(first) * np.linalg.norm(second)
    return float(np.linalg.norm(first.T @ second) / norms) if norms else 0.0


def model(
    codes: np.ndarray, extra: Sequence[tuple[int, ...]] = (), interactions: bool = True
) -> Model:
    """Of combinations × factors. `extra`: interactions of three that are wanted too. Without
    `interactions` there are only the factors themselves."""
    plain = np.ascontiguousarray(codes, dtype=np.int64)
    return _model(plain.tobytes(), plain.shape, tuple(extra), interactions)


def triples(codes: np.ndarray) -> list[tuple[int, ...]]:
    """All interactions of three that there could be."""
    return list(combinations(_varied(codes), 3))


def _varied(codes: np.ndarray) -> list[int]:
    return [index for index, column in enumerate(codes.T) if len(np.unique(column)) > 1]


@lru_cache(maxsize=16)  # the responses of a study have the same combinations
def _model(
    data: bytes, shape: tuple[int, int], extra: tuple[tuple[int, ...], ...], interactions: bool
) -> Model:
    codes = np.frombuffer(data, dtype=np.int64).reshape(shape)
    varied = _varied(codes)
    basis = np.full((shape[0], 1), 1 / math.sqrt(shape[0]))
    terms: list[Term] = []
    left_out: list[tuple[int, ...]] = []
    for positions in (*((position,) for position in varied), *combinations(varied, 2), *extra):
        wanted = interactions or len(positions) == 1
        term = _term(codes, positions) if wanted else None
        new = np.empty((shape[0], 0)) if term is None else _independent(basis, term.columns)
        missing = 0 if term is None else term.columns.shape[1] - new.shape[1]
        if term is None or not new.shape[1] or (missing and len(positions) > 2):
            left_out.append(positions)
        else:
            basis = np.hstack([basis, new])
            terms.append(replace(term, columns=new, partial=True) if missing else term)
    design = np.hstack([np.ones((shape[0], 1)), *(term.columns for term in terms)])
    solve = linalg.pinv(design)
    ends = np.cumsum([1, *(term.columns.shape[1] for term in terms)])
    rows = tuple(solve[begin:end] for begin, end in pairwise(ends))
    return Model(tuple(terms), rows, basis, tuple(left_out))


def _independent(basis: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Orthonormal directions that the columns add to the basis: as many as there are columns, or
    fewer where the combinations that are missing keep some from being told."""
    rest = columns - basis @ (basis.T @ columns)
    left, values, _ = linalg.svd(rest, full_matrices=False)
    return np.asarray(left[:, values > 1e-8 * math.sqrt(len(basis))])


def _term(codes: np.ndarray, positions: tuple[int, ...]) -> Term | None:
    """None where it has too many columns."""
    codings, levels, parts = [], [], []
    for position in positions:
        present, row = np.unique(codes[:, position], return_inverse=True)
        coding = np.vstack([np.eye(len(present) - 1), -np.ones(len(present) - 1)])
        codings.append(coding)
        levels.append(present)
        parts.append(coding[row.reshape(-1)])
    if math.prod(part.shape[1] for part in parts) > COEFFICIENTS_AT_MOST:
        return None
    columns = parts[0]
    for part in parts[1:]:
        columns = (columns[:, :, None] * part[:, None, :]).reshape(len(columns), -1)
    return Term(positions, columns, tuple(codings), tuple(levels))
