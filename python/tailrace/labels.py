"""What several runs are called beside each other: by what tells them apart, and no more."""

import shlex
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tailrace.errors import TailraceError
from tailrace.names import base_name, elided, printable
from tailrace.units import count

LONGEST = 40
RANKS_OPTIONS = ("-n", "-np", "--ntasks")


def labels_of(
    traces: Sequence[dict[str, Any]], paths: Sequence[str], given: Sequence[str] | None = None
) -> list[str]:
    """One label a run: as given here or when it was recorded (`tailrace run --label`), else the
    ranks where all differ, else what differs in the commands or in the paths; runs that nothing
    tells apart are numbered."""
    if given:
        if len(given) != len(traces):
            raise TailraceError(
                f"{count(len(given), 'label')} for {count(len(traces), 'run')}",
                "give one label for each run, in the same order",
            )
        return [printable(label) for label in given]
    recorded = [printable(columns["meta"].get("label", "")) for columns in traces]
    if all(recorded):
        return _numbered(recorded)
    ranks = [count(int(columns["ranks"]), "rank") for columns in traces]
    if len(set(ranks)) == len(ranks):
        return ranks
    commands = [_words(columns) for columns in traces]
    for parts, separator in ((commands, " "), ([path.split("/") for path in paths], "/")):
        labels = _with_ranks(_different(parts, separator), ranks)
        if len(set(labels)) == len(labels) and all(labels):
            return labels
    return _numbered([label or "run" for label in labels])


def differences_of(traces: Sequence[dict[str, Any]], *, paths: bool) -> list[str]:
    """What differs in the programs' own arguments beside the number of ranks; empty texts where
    nothing does, or where it is not known which of a command's words are the program's. `paths`:
    whether these count, though each run may have a directory of its own."""
    arguments = [_arguments(columns) for columns in traces]
    if not paths:
        arguments = [[word for word in words if "/" not in word] for words in arguments]
    if len(set(map(len, arguments))) > 1:
        return _different(arguments, " ")
    ranks = [str(columns["ranks"]) for columns in traces]
    places = [words for words in zip(*arguments, strict=True) if len(set(words)) > 1]
    kept = [words for words in places if not _tell_ranks(words, ranks)]
    rows = [[words[run] for words in kept] for run in range(len(traces))]
    return [elided(printable(" ".join(row)), LONGEST) for row in rows]


def _tell_ranks(words: Sequence[str], ranks: Sequence[str]) -> bool:
    """As `2` and `4`, or `out-2` and `out-4`, of runs on so many ranks."""
    stems = {word.replace(number, "") for word, number in zip(words, ranks, strict=True)}
    return len(stems) == 1


def _arguments(columns: dict[str, Any]) -> list[str]:
    """What stands behind the program's name."""
    meta, words = columns["meta"], _words(columns)
    program = base_name(meta.get("program", "") or meta.get("exe", ""))
    places = [place for place, word in enumerate(words) if base_name(word) == program]
    return words[places[0] + 1 :] if places else []


def _words(columns: dict[str, Any]) -> list[str]:
    """The command's words without the number of ranks, which is said otherwise. A trace keeps them
    apart by \\x1f; `--key=value` counts as two."""
    command = columns["meta"].get("command", "")
    typed = command.split("\x1f") if "\x1f" in command else _typed(command)
    words = [part for word in typed for part in _option(word)]
    return [
        word
        for before, word in pairwise(["", *words])
        if not (before in RANKS_OPTIONS and word == str(columns["ranks"]))
    ]


def _typed(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _option(word: str) -> list[str]:
    return word.split("=", 1) if word.startswith("-") and "=" in word else [word]


def _different(parts: Sequence[list[str]], separator: str) -> list[str]:
    """Of each list what is left without the parts that all of them have, as often as all have
    them; paths among words are left out where something else tells the runs apart."""
    common = Counter(parts[0])
    for words in parts[1:]:
        common &= Counter(words)
    rests = [_without(words, common.copy()) for words in parts]
    if separator == " ":
        plain = [[word for word in words if "/" not in word] for words in rests]
        rests = plain if len(set(map(tuple, plain))) == len(plain) and all(plain) else rests
        rests = _shortened(rests)
    return [elided(printable(separator.join(words)), LONGEST) for words in rests]


def _shortened(rests: list[list[str]]) -> list[list[str]]:
    """Where a label would be too long: as few first words of each as tell the same runs apart."""
    if all(len(" ".join(words)) <= LONGEST for words in rests):
        return rests
    different = len(set(map(tuple, rests)))
    for most in range(1, max(map(len, rests))):
        first = [words[:most] for words in rests]
        if len(set(map(tuple, first))) == different:
            return first
    return rests


def _without(words: list[str], common: Counter[str]) -> list[str]:
    rest = []
    for word in words:
        if common[word]:
            common[word] -= 1
        else:
            rest.append(word)
    return rest


def _with_ranks(labels: list[str], ranks: list[str]) -> list[str]:
    """The number of ranks, which few commands spell, is part of a label where it varies."""
    if len(set(ranks)) == 1:
        return labels
    return [
        ", ".join(filter(None, (label, number)))
        for label, number in zip(labels, ranks, strict=True)
    ]


def _numbered(labels: list[str]) -> list[str]:
    """Equal labels get numbers, so that all differ."""
    twice = {label for label, number in Counter(labels).items() if number > 1}
    seen: Counter[str] = Counter()
    result = []
    for label in labels:
        seen[label] += 1
        result.append(f"{label} ({seen[label]})" if label in twice else label)
    return result
