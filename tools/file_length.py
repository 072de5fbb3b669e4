"""Fails where a source file has more than 500 lines: it has become more than one room; or where a
line of what no formatter reads has more than 100 columns."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LONGEST, WIDEST = 500, 100
SOURCES = ["*.c", "*.h", "*.rs", "*.py", "*.js", "*.ts", "*.css", "*.S", "*.j2"]
# Of Markdown a sentence is a line.
UNFORMATTED = ["*.j2", "Makefile", "*/Makefile", ":!*.md.j2"]


def main() -> int:
    problems = [*long_files(named(SOURCES)), *wide_lines(named(UNFORMATTED))]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def named(patterns: list[str]) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns], check=True, capture_output=True, text=True
    )
    return [path for path in map(Path, listed.stdout.splitlines()) if path.exists()]


def long_files(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        lines = path.read_bytes().count(b"\n")
        if lines > LONGEST:
            yield f"{path}: {lines} lines, more than {LONGEST}"


def wide_lines(paths: list[Path]) -> Iterator[str]:
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            columns = len(line.expandtabs())
            if columns > WIDEST:
                yield f"{path}:{number}: {columns} columns, more than {WIDEST}"


if __name__ == "__main__":
    sys.exit(main())
