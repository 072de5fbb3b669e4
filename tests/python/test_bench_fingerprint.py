"""The fingerprint against its definition, element by element, and what it notices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tailrace.bench import fingerprint

GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def by_definition(array: np.ndarray) -> str:
    """kernels/common/fingerprint.h in Python's own integers."""
    total = 0
    for index, value in enumerate(array.reshape(-1)):
        x = (int.from_bytes(value.tobytes(), "little") + GOLDEN * (index + 1)) & MASK
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
        total += x ^ x >> 31
    return f"{total & MASK:016x}"


def of(array: np.ndarray, most: int = fingerprint.BOX_ELEMENTS) -> str:
    shares = (
        fingerprint.of_box(
            array[tuple(slice(first, first + count) for first, count in box)],
            [first for first, _ in box],
            array.shape,
        )
        for box in fingerprint.boxes(array.shape, most)
    )
    return fingerprint.total(shares)


@pytest.mark.parametrize("kind", ["<f8", "<f4", "<i4", "S1", ">f8"])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (3, 5, 7), (2, 3, 5, 4)])
def test_it_is_the_definition_however_it_is_cut(kind: str, shape: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(1).integers(0, 255, math.prod(shape)).reshape(shape)
    array = (
        numbers.astype(np.uint8).view("S1").reshape(shape)
        if kind == "S1"
        else (numbers / 3).astype(kind)
    )
    expected = by_definition(array.astype(array.dtype.newbyteorder("<")))
    assert {of(array, most) for most in (1, 2, 8, 100, 10**6)} == {expected}


def test_boxes_cover_every_element_once() -> None:
    for shape, most in (
        ((5, 4, 3), 7),
        ((5, 4, 3), 1),
        ((2, 9), 4),
        ((11,), 3),
        ((), 1),
        ((4, 0, 3), 5),
    ):
        seen = np.zeros(shape, int)
        for box in fingerprint.boxes(shape, most):
            seen[tuple(slice(first, first + count) for first, count in box)] += 1
        assert (seen == 1).all(), (shape, most)


@pytest.mark.parametrize("kind", ["<f8", "<i4"])
def test_one_element_lost_swapped_or_flipped_changes_it(kind: str) -> None:
    array = (np.arange(1, 121).reshape(4, 5, 6) * 1.5).astype(kind)
    whole = of(array)
    for index in ((0, 0, 0), (1, 2, 3), (3, 4, 5)):
        zeroed, flipped, swapped = array.copy(), array.copy(), array.copy()
        zeroed[index] = 0
        flipped.view(f"<u{array.itemsize}")[index] ^= 1
        swapped[index], swapped[2, 2, 2] = array[2, 2, 2], array[index]
        assert whole not in {of(zeroed), of(flipped), of(swapped)}
