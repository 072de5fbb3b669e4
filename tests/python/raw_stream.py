"""Raw streams put together byte by byte, as docs/reference/internals/trace.md says, so that every
number of the packed trace is known. One tick is one nanosecond."""

import struct
from pathlib import Path

HEADER_BYTES = 4096


class RawStream:
    """The main thread of a rank on one node, from `start` on."""

    def __init__(self, rank: int, ranks: int, start: int = 0) -> None:
        head = struct.pack(
            "<8sIIIIQIIQ", b"TAILRAW\0", 1, 100 + rank, 0, 1, 10**9, 2, 25_000, start
        )
        head = head.ljust(80, b"\0") + struct.pack("<Q", 1)
        self.process = 100 + rank
        self.bytes = head.ljust(HEADER_BYTES, b"\0")
        for key, value in (("rank", rank), ("ranks", ranks), ("host", "node"), ("node", "n")):
            self.record(247, f"{key}\0{value}".encode())
        self.record(241, struct.pack("<QQIQ", start, start, 20, start))
        self.record(244, struct.pack("<IQBi4I", 0, 7, 0, rank, 1, 0, 1, ranks))  # MPI_COMM_WORLD

    def record(self, head: int, payload: bytes) -> None:
        self.bytes += struct.pack("<BBH", head, 0, len(payload)) + payload

    def name(self, function: int, layer: int, name: str) -> None:
        self.record(242, struct.pack("<HB", function, layer) + name.encode())

    def path(self, number: int, path: bytes) -> None:
        self.record(243, struct.pack("<I", number) + path)

    def define(self, shape: int, function: int, class_number: int, words: list[int]) -> None:
        coded = b"".join(_word(word) for word in words)
        self.record(240, struct.pack("<BHBB", shape, function, class_number, len(words)) + coded)

    def call(self, shape: int, gap: int, duration: int) -> None:
        gap_bytes, duration_bytes = _shortest(gap), _shortest(duration)
        lengths = len(gap_bytes) | len(duration_bytes) << 4
        self.bytes += bytes([shape, lengths]) + gap_bytes + duration_bytes

    def enter(self, shape: int, gap: int) -> None:
        self._edge(245, shape, gap)

    def leave(self, shape: int, gap: int) -> None:
        self._edge(246, shape, gap)

    def save(self, directory: Path) -> None:
        (directory / "raw").mkdir(exist_ok=True)
        path = directory / "raw" / f"node.{self.process}.0.stream"
        path.write_bytes(self.bytes + bytes(512))

    def _edge(self, head: int, shape: int, gap: int) -> None:
        gap_bytes = _shortest(gap)
        self.bytes += bytes([head, len(gap_bytes), shape]) + gap_bytes


def _shortest(value: int) -> bytes:
    return value.to_bytes((max(value, 1).bit_length() + 7) // 8, "little")


def _word(word: int) -> bytes:
    coded = (word << 1) ^ (word >> 63)
    result = bytearray()
    while coded >= 0x80:
        result.append(coded & 0x7F | 0x80)
        coded >>= 7
    return bytes([*result, coded])
