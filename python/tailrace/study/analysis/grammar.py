"""Nouns that users chose, and the verbs that go with them: "speed rises", "cache misses rise"."""

import re

# What is said of a noun begins here: "time | in writes", "bytes | of all files".
_AFTER = re.compile(r"\s(?:of|in|per|to|on|at|with|from|by|for|until|without)\s|[(,]")
_PARTICIPLE = re.compile(r"(?:ed|en|read|sent|lost|put|cut|set)$")
# These end as plurals do, and are none.
_SINGULAR = re.compile(r"(?:ss|us|is|bias|gas|alias|atlas|canvas|lens|flops)$")
_VERBS = {"is": "are", "was": "were", "has": "have", "does": "do", "goes": "go"}


def is_plural(noun: str) -> bool:
    """Of a noun with whatever stands beside it: its last word, or that before a participle (`bytes
    written`), ends in an s. Units (`Mop/s`) and capitals say nothing."""
    head = _AFTER.split(noun, maxsplit=1)[0].split()
    while len(head) > 1 and _PARTICIPLE.search(head[-1]):
        head.pop()
    word = head[-1] if head else ""
    is_word = word.isalpha() and word[1:].islower() and len(word) > 2
    return is_word and word.endswith("s") and not _SINGULAR.search(word.lower())


def agreeing(verb: str, plural: bool) -> str:
    """A verb of the third person: `rises`, or `rise` of several."""
    return _VERBS.get(verb, verb[:-1]) if plural else verb
