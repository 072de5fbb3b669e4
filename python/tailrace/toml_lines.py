"""On which line of a TOML file a key stands. tomllib gives values without places, so the syntax
tree is asked."""

import ast

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

Path = tuple[str | int, ...]
_TABLES = ("table", "table_array_element")
_KEYS = ("bare_key", "quoted_key", "dotted_key")


class Lines:
    """The line, from 1, of every key and array element, by its path: `("output", 0, "variable", 2,
    "type")`."""

    def __init__(self, text: str) -> None:
        self._line: dict[Path, int] = {}
        self._tables: dict[Path, int] = {}  # how many [[tables]] of this path there are
        root = Parser(Language(tree_sitter_toml.language())).parse(text.encode()).root_node
        self._pairs(root, ())
        for child in root.named_children:
            if child.type in _TABLES:
                self._pairs(child, self._header(child))

    def of(self, path: Path) -> int:
        """The line of the path, or of the nearest table around it that the file has; 1 where there
        is none."""
        for length in range(len(path), 0, -1):
            if (line := self._line.get(path[:length])) is not None:
                return line
        return 1

    def _header(self, table: Node) -> Path:
        """The path that the table's keys lie under; [[…]] adds one to its array, […] goes on in the
        newest."""
        *parents, last = _names(table.named_children[0])
        path: Path = ()
        for name in parents:
            path = self._newest((*path, name))
        path = (*path, last)
        if table.type == "table_array_element":
            self._tables[path] = self._tables.get(path, 0) + 1
        path = self._newest(path)
        self._line.setdefault(path, table.start_point[0] + 1)
        return path

    def _newest(self, path: Path) -> Path:
        count = self._tables.get(path)
        return path if count is None else (*path, count - 1)

    def _pairs(self, table: Node, path: Path) -> None:
        for pair in table.named_children:
            if pair.type == "pair":
                key, *value = pair.named_children
                self._value(
                    value[0] if value else None, (*path, *_names(key)), pair.start_point[0] + 1
                )

    def _value(self, value: Node | None, path: Path, line: int) -> None:
        self._line.setdefault(path, line)
        if value is not None and value.type == "inline_table":
            self._pairs(value, path)
        elif value is not None and value.type == "array":
            elements = [child for child in value.named_children if child.type != "comment"]
            for place, element in enumerate(elements):
                self._value(element, (*path, place), element.start_point[0] + 1)


def _names(key: Node) -> list[str]:
    """`a."b c".d` is three names."""
    if key.type == "dotted_key":
        return [name for part in key.named_children if part.type in _KEYS for name in _names(part)]
    text = (key.text or b"").decode("utf-8", "replace")
    if key.type == "quoted_key":
        return [text[1:-1] if text.startswith("'") else str(ast.literal_eval(text))]
    return [text]
