"""environment.json for people: the targets, and the machine in rows of a table."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tailrace.names import elided, printable
from tailrace.units import byte_count

VALUE_WIDTH = 400
# Told elsewhere, or of no use to a reader.
LEFT_OUT = frozenset({"schema", "targets", "simulated", "identity"})
Row = tuple[str, str]


def targets(environment: Mapping[str, Any]) -> list[dict[str, str]]:
    """Of each target: name, file system, and in words what it is and what it is not, as far as that
    is known."""
    real = [_target(name, target) for name, target in (environment.get("targets") or {}).items()]
    models = (environment.get("simulated") or {}).items()
    return real + [_simulated(name, model) for name, model in models]


def _simulated(name: str, model: Mapping[str, Any]) -> dict[str, str]:
    return {
        "name": _text(name),
        "file_system": "simulated, not measured",
        "path": "",
        "words": f"the model {_text(model.get('model', ''))}: {_text(model.get('source', ''))}",
        "is_not": "",
    }


def _target(name: str, target: Mapping[str, Any]) -> dict[str, str]:
    bed, known = target.get("bed") or {}, target.get("known") or {}
    rate = bed.get("rate_bit_per_s")
    links = f"; links of {rate / 1e6:g} Mbit/s" if rate else ""
    return {
        "name": _text(name),
        "file_system": _text(bed.get("file_system") or target.get("file_system") or ""),
        "path": _text(target.get("path") or ""),
        "words": "; ".join(
            _text(text) for text in (known.get("description"), bed.get("is")) if text
        )
        + links,
        "is_not": _text(bed.get("is_not") or ""),
    }


def rows(value: Any, name: str = "") -> Iterator[Row]:
    """Nested objects as rows of names and texts; bytes and times as people read them."""
    if isinstance(value, Mapping):
        for part, inner in value.items():
            if part not in LEFT_OUT:
                yield from rows(
                    inner, f"{name}, {_text(str(part)).replace('_', ' ')}".removeprefix(", ")
                )
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for number, inner in enumerate(value, 1):
            yield from rows(inner, f"{name} {number}")
    elif value not in (None, "", []):
        yield _row(name, value)


def _row(name: str, value: Any) -> Row:
    if name.endswith(" unix s") and isinstance(value, int | float):
        moment = datetime.fromtimestamp(value, UTC)
        return name.removesuffix(" unix s"), f"{moment:%Y-%m-%d %H:%M} UTC"
    if name.endswith(" bytes") and isinstance(value, int | float):
        return name.removesuffix(" bytes"), byte_count(value)
    return name, _text(" ".join(map(_plain, value)) if isinstance(value, list) else _plain(value))


def _plain(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _text(text: str) -> str:
    return elided(printable(text), VALUE_WIDTH)
