"""A second reader of raw streams, written from docs/reference/internals/trace.md alone: the tests'
oracle for what capture wrote.

It favours being obviously right over being fast. Times stay in ticks.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

HEADER_BYTES = 4096
OPS = [
    "open", "close", "read", "write", "sync", "seek", "stat", "lock", "truncate", "map", "unlink",
    "rename", "make_directory", "set_view", "metadata", "drop",
]  # fmt: skip


class MalformedError(Exception):
    """The stream does not follow the document."""


@dataclass
class Call:
    """One call; `depth` counts the calls around it, `parent` is the innermost of them."""

    function: str
    layer: int
    class_number: int
    words: list[int]
    begin: int
    end: int | None
    depth: int
    parent: Call | None = None
    path: bytes | None = None
    place: int = 0  # number of its call path, 0 where none is known

    @property
    def op(self) -> str:
        return OPS[self.words[0]]

    @property
    def flags(self) -> int:
        return self.words[1]

    @property
    def bytes(self) -> int:
        return self.words[3]

    @property
    def offset(self) -> int | None:
        """Absolute, in bytes; None where the call has none."""
        return self.words[4] if self.flags & 1 else None

    @property
    def error(self) -> int:
        return self.words[5]


@dataclass
class Buffered:
    """Calls of STDIO on one file that were counted, whether or not they led to requests."""

    op: str
    file: int
    calls: int
    bytes: int
    function: str
    time: int


@dataclass
class Counted:
    """Calls of a function that were counted and not timed."""

    function: str
    calls: int
    begin: int
    end: int


@dataclass
class Communicator:
    """World ranks of the members, of the remote group where there is one, and of those that
    neighbourhood collectives receive from, where there is a topology."""

    identity: int
    rank: int
    members: list[int]
    remote: list[int] | None = None
    sources: list[int] | None = None


@dataclass
class Module:
    """A file that held code."""

    build_id: bytes
    name: bytes


@dataclass
class Place:
    """Frames from the innermost: number of the module (0: none) and the address in it."""

    frames: list[tuple[int, int]]
    cut: bool


@dataclass
class Stream:
    header: dict[str, int]
    calls: list[Call] = field(default_factory=list)  # in order of their ends
    buffered: list[Buffered] = field(default_factory=list)
    questions: list[Counted] = field(default_factory=list)
    meta: dict[str, str] = field(default_factory=dict)  # the last value of each key
    values: dict[str, list[str]] = field(default_factory=dict)  # all of them
    notes: list[tuple[str, str]] = field(default_factory=list)
    clocks: list[tuple[int, int, int, int]] = field(default_factory=list)
    paths: dict[int, bytes] = field(default_factory=dict)
    renames: list[tuple[bytes, bytes]] = field(default_factory=list)  # what was renamed, to what
    names: dict[int, tuple[str, int]] = field(default_factory=dict)
    communicators: dict[int, Communicator] = field(default_factory=dict)
    counters: tuple[int, int] | None = None
    modules: dict[int, Module] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    waits: list[tuple[int, int, int]] = field(default_factory=list)  # begin, end (ticks), ns
    ended: bool = False
    open_at_end: list[Call] = field(default_factory=list)
    bytes_of_records: int = 0
    definitions: int = 0  # of shapes

    def counted(self, op: str, file: int) -> tuple[int, int]:
        """Calls and bytes that were counted for a file."""
        rows = [row for row in self.buffered if (row.op, row.file) == (op, file)]
        return sum(row.calls for row in rows), sum(row.bytes for row in rows)

    def asked(self, function: str) -> int:
        """How often a function was called that is counted and not timed."""
        return sum(row.calls for row in self.questions if row.function == function)

    def of(self, function: str) -> list[Call]:
        return [call for call in self.calls if call.function == function]


def unzigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


class Payload:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def u8(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def u16(self) -> int:
        return self.u8() | self.u8() << 8

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def word(self) -> int:
        value = unzigzag(self.varint())
        if not -(2**63) <= value < 2**63:
            raise MalformedError(f"the word {value} has more than 64 bits")
        return value

    def words(self, count: int) -> list[int]:
        return [self.word() for _ in range(count)]

    def rest_of_words(self) -> list[int]:
        words = []
        while self.at < len(self.data):
            words.append(self.word())
        return words


class Decoder:
    def __init__(self, data: bytes):
        self.data = data
        self.at = HEADER_BYTES
        self.stream = Stream(read_header(data))
        self.cursor = self.stream.header["start"]
        # function, class, words, number of words due, place
        self.shapes: dict[int, tuple[int, int, list[int], int, int]] = {}
        self.expected = [0] * 64
        self.latest = 0  # the file of the last record path or path beside, and its path
        self.latest_path = b""
        self.stack: list[Call] = []

    def decode(self) -> Stream:
        while self.at + 2 <= len(self.data) and self.data[self.at]:
            self.record(self.data[self.at], self.data[self.at + 1])
        self.stream.open_at_end = self.stack
        self.stream.bytes_of_records = self.at - HEADER_BYTES
        return self.stream

    def record(self, head: int, lengths: int) -> None:
        if head < 240:
            self.call(head, lengths)
        elif head in (245, 246):
            self.edge(head, lengths)
        else:
            (length,) = struct.unpack_from("<H", self.data, self.at + 2)
            payload = self.data[self.at + 4 : self.at + 4 + length]
            if len(payload) < length:
                raise MalformedError(f"the record at byte {self.at} goes beyond the file")
            self.other(head, payload)
            self.at += 4 + length

    def integer(self, length: int) -> int:
        if length > 8:
            raise MalformedError(f"a length of {length} bytes at byte {self.at}")
        value = int.from_bytes(self.data[self.at : self.at + length], "little")
        self.at += length
        return value

    # --- calls ---

    def call(self, head: int, lengths: int) -> None:
        self.at += 2
        begin = self.cursor + self.integer(lengths & 15)
        self.cursor = begin + self.integer(lengths >> 4)
        self.add(self.make(head, begin, self.cursor, "call"))

    def edge(self, head: int, lengths: int) -> None:
        shape = self.data[self.at + 2]
        self.at += 3
        self.cursor += self.integer(lengths & 15)
        if head == 245:
            self.stack.append(self.make(shape, self.cursor, None, "enter"))
            return
        if not self.stack:
            raise MalformedError(f"a leave without an enter before byte {self.at}")
        entered = self.stack.pop()
        left = self.make(shape, entered.begin, self.cursor, "leave")
        if left.function != entered.function:
            raise MalformedError(
                f"{entered.function} is left as {left.function} before byte {self.at}"
            )
        for name, value in vars(left).items():
            setattr(entered, name, value)
        self.add(entered)

    def make(self, number: int, begin: int, end: int | None, part: str) -> Call:
        if number not in self.shapes:
            raise MalformedError(f"shape {number} is not defined before byte {self.at}")
        function, class_number, words, due, place = self.shapes[number]
        if len(words) != due:
            raise MalformedError(f"shape {number} has {len(words)} words instead of {due}")
        name, layer = self.stream.names[function]
        words = list(words)
        path = None
        if class_number == 1:
            if words[1] & 32:
                words[1:3] = words[1] & ~32, self.latest
            self.resolve_offset(words, part)
            path = self.stream.paths.get(words[2])
        parent = self.stack[-1] if self.stack else None
        if place and place not in self.stream.places:
            raise MalformedError(f"place {place} is not defined before byte {self.at}")
        depth = len(self.stack)
        return Call(name, layer, class_number, words, begin, end, depth, parent, path, place)

    def resolve_offset(self, words: list[int], part: str) -> None:
        if not words[1] & 1:
            return
        slot = words[2] % 64
        words[4] = (words[4] + self.expected[slot] + 2**63) % 2**64 - 2**63
        if part != "enter":
            self.expected[slot] = words[4] + words[3]

    def add(self, call: Call) -> None:
        if call.class_number == 14:
            op, file, calls, size = call.words
            row = Buffered(OPS[op], file, calls, size, call.function, call.begin)
            self.stream.buffered.append(row)
        elif call.class_number == 15:
            row = Counted(call.function, *call.words, call.begin, call.end)
            self.stream.questions.append(row)
        else:
            self.stream.calls.append(call)

    # --- the other records ---

    def other(self, head: int, data: bytes) -> None:
        stream = self.stream
        if head == 240:
            stream.definitions += 1
            self.define(Payload(data))
        elif head == 241:
            stream.clocks.append(struct.unpack("<QQIQ", data))
        elif head == 242:
            stream.names[int.from_bytes(data[:2], "little")] = (data[3:].decode(), data[2])
        elif head in (243, 254):
            self.path(int.from_bytes(data[:4], "little"), head, data[4:])
        elif head == 255:
            stream.renames.append((stream.paths[int.from_bytes(data[:4], "little")], data[4:]))
        elif head in (247, 248):
            key, _, text = data.partition(b"\0")
            self.text(head, key.decode(), text.decode(errors="surrogateescape"))
        elif head == 249:
            stream.counters = struct.unpack("<QQ", data)
        elif head == 251:
            stream.waits.append(struct.unpack("<QQQ", data))
        elif head == 250:
            stream.ended = True
        else:
            self.place_or_communicator(head, data)

    def path(self, number: int, head: int, data: bytes) -> None:
        self.latest = number
        if head == 243 and not data:
            if number not in self.stream.paths:
                raise MalformedError(f"file {number} is the latest again, and was never named")
            return
        shared = int.from_bytes(data[:2], "little") if head == 254 else 0
        if shared > len(self.latest_path):
            raise MalformedError(f"a path shares {shared} bytes of {self.latest_path!r}")
        self.latest_path = self.latest_path[:shared] + (data[2:] if head == 254 else data)
        self.stream.paths[number] = self.latest_path

    def place_or_communicator(self, head: int, data: bytes) -> None:
        if head == 244:
            self.communicator(data)
        elif head == 252:
            number, length = struct.unpack_from("<IB", data)
            if number != len(self.stream.modules) + 1:
                raise MalformedError(f"module {number} is not the next at byte {self.at}")
            self.stream.modules[number] = Module(data[5 : 5 + length], data[5 + length :])
        elif head == 253:
            self.place(data)
        else:
            raise MalformedError(f"head {head} at byte {self.at}")

    def text(self, head: int, key: str, text: str) -> None:
        if head == 247:
            self.stream.meta[key] = text
            self.stream.values.setdefault(key, []).append(text)
        else:
            self.stream.notes.append((key, text))

    def communicator(self, data: bytes) -> None:
        number, identity, flags, rank = struct.unpack_from("<IQBi", data)
        members, at = self.runs(data, 17)
        remote, at = self.runs(data, at) if flags & 1 else (None, at)
        sources, at = self.runs(data, at) if flags & 2 else (None, at)
        if at != len(data):
            raise MalformedError(
                f"{len(data) - at} bytes too many in the communicator at byte {self.at}"
            )
        known = Communicator(identity, rank, members, remote, sources)
        self.stream.communicators[number] = known

    def runs(self, data: bytes, at: int) -> tuple[list[int], int]:
        ranks: list[int] = []
        (count,) = struct.unpack_from("<I", data, at)
        for first, step, length in struct.iter_unpack("<IiI", data[at + 4 : at + 4 + 12 * count]):
            ranks += [first + step * i for i in range(length)]
        return ranks, at + 4 + 12 * count

    def place(self, data: bytes) -> None:
        number, flags = struct.unpack_from("<IB", data)
        if number != len(self.stream.places) + 1:
            raise MalformedError(f"place {number} is not the next at byte {self.at}")
        payload, frames = Payload(data[5:]), []
        while payload.at < len(payload.data):
            frames.append((payload.varint(), payload.varint()))
            if frames[-1][0] and frames[-1][0] not in self.stream.modules:
                raise MalformedError(f"a module is not defined before byte {self.at}")
        self.stream.places[number] = Place(frames, bool(flags & 1))

    def define(self, payload: Payload) -> None:
        number, function, class_number = payload.u8(), payload.u16(), payload.u8()
        if class_number == 255:
            real_class, place, due = payload.u8(), payload.varint(), payload.varint()
            words = payload.rest_of_words()
            self.shapes[number] = (function, real_class, words, due, place)
        elif class_number == 254:
            self.shapes[number][2].extend(payload.words(payload.u8()))
        else:
            count = payload.u8()
            words = payload.words(count)
            place = payload.varint() if payload.at < len(payload.data) else 0
            self.shapes[number] = (function, class_number, words, count, place)
        if payload.at != len(payload.data):
            raise MalformedError(
                f"{len(payload.data) - payload.at} bytes too many in the definition"
                f" at byte {self.at}"
            )


def read_header(data: bytes) -> dict[str, int]:
    if data[:8] != b"TAILRAW\0":
        raise MalformedError("the magic is missing")
    names = [
        "version", "process", "thread", "flags", "ticks_per_s", "clock", "event_cost_ps", "start",
        "lost", "in_flight_begin", "in_flight_function", "full_at", "closed",
        "own_ticks",
    ]  # fmt: skip
    return dict(zip(names, struct.unpack_from("<4IQ2I7Q", data, 8), strict=True))


def read(path: Path) -> Stream:
    return Decoder(path.read_bytes()).decode()


def count_calls(path: Path) -> int:
    """The number of calls, without looking at them: by the lengths of the records alone."""
    data = path.read_bytes()
    at, count = HEADER_BYTES, 0
    while head := data[at]:
        lengths = data[at + 1]
        if head < 240:
            at += 2 + (lengths & 15) + (lengths >> 4)
            count += 1
        elif head in (245, 246):
            at += 3 + lengths
            count += head == 246
        else:
            at += 4 + (data[at + 2] | data[at + 3] << 8)
            if at == len(data) or head == 250:
                break
    return count


def read_all(directory: Path) -> list[Stream]:
    """All streams of a raw directory, paths known across the threads of a process, as the document
    says."""
    streams = [read(path) for path in sorted(directory.glob("*.stream"))]
    paths: dict[int, dict[int, bytes]] = {}
    for stream in streams:
        paths.setdefault(stream.header["process"], {}).update(stream.paths)
    for stream in streams:
        for call in stream.calls:
            if call.class_number == 1:
                call.path = paths[stream.header["process"]].get(call.words[2])
    return streams
