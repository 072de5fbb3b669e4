"""The fingerprint of an array, as kernels/common/fingerprint.h defines it: the sum, modulo 2^64,
over all elements of mix(bits + G (index + 1)); bits are the element's bytes as an unsigned
little-endian number, index its place in the whole array in C order, and mix the finalizer of
splitmix64 (Steele, Lea, Flood, OOPSLA 2014).

A sum does not care in which order an array is read, so it is taken in boxes, and memory stays
bounded.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
MASK = (1 << 64) - 1
BOX_ELEMENTS = 1 << 20

Box = tuple[tuple[int, int], ...]  # start and count along every dimension


def of_box(values: np.ndarray, start: Sequence[int], shape: Sequence[int]) -> int:
    """The share of a box: `values` lies in the array of that shape from `start` on."""
    if values.size == 0:
        return 0
    bits = _bits(values)
    bits += _places(values.shape, start, shape) * GOLDEN
    _mix(bits)
    return int(np.add.reduce(bits, axis=None, dtype=np.uint64))


def _bits(values: np.ndarray) -> np.ndarray:
    """The elements' bytes, zero-extended to 64 bits."""
    size = values.dtype.itemsize
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return little.view(f"<u{size}").astype(np.uint64)


def _places(count: Sequence[int], start: Sequence[int], shape: Sequence[int]) -> np.ndarray:
    """Each element's number in the whole array, from 1."""
    places = np.ones((1,) * len(count), np.uint64)
    for axis, (first, number) in enumerate(zip(start, count, strict=True)):
        stride = math.prod(shape[axis + 1 :])
        along = np.arange(first, first + number, dtype=np.uint64) * np.uint64(stride)
        places = places + along.reshape([-1 if other == axis else 1 for other in range(len(count))])
    return places


def _mix(bits: np.ndarray) -> None:
    """In place."""
    for shift, factor in ((30, FIRST), (27, SECOND), (31, None)):
        bits ^= bits >> np.uint64(shift)
        if factor is not None:
            bits *= factor


def boxes(shape: Sequence[int], most: int = BOX_ELEMENTS) -> Iterator[Box]:
    """Cuts an array into boxes of at most `most` elements (one row along the last dimension at
    least is whole)."""
    if not shape or math.prod(shape) <= most or len(shape) == 1:
        yield from _row(shape, most)
        return
    inner = math.prod(shape[1:])
    if inner > most:
        for first in range(shape[0]):
            yield from (((first, 1), *rest) for rest in boxes(shape[1:], most))
        return
    step = max(1, most // inner)
    for first in range(0, shape[0], step):
        yield ((first, min(step, shape[0] - first)), *((0, size) for size in shape[1:]))


def _row(shape: Sequence[int], most: int) -> Iterator[Box]:
    if len(shape) == 1:
        yield from (((first, min(most, shape[0] - first)),) for first in range(0, shape[0], most))
    else:
        yield tuple((0, size) for size in shape)


def total(shares: Iterator[int]) -> str:
    """As records write it: 16 hexadecimal digits."""
    return f"{sum(shares) & MASK:016x}"
