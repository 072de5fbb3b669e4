"""Fails where a source file has more than 500 lines: it has become more than one room."""

import subprocess
import sys
from pathlib import Path

LONGEST = 500
SOURCES = ["*.c", "*.h", "*.rs", "*.py", "*.js", "*.ts", "*.css", "*.S"]


def main() -> int:
    names = subprocess.run(
        ["git", "ls-files", *SOURCES], check=True, capture_output=True, text=True
    ).stdout.split("\n")
    long = [(name, lines) for name in names if name and (lines := line_count(Path(name))) > LONGEST]
    for name, lines in long:
        print(f"{name}: {lines} lines, more than {LONGEST}", file=sys.stderr)
    return 1 if long else 0


def line_count(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


if __name__ == "__main__":
    sys.exit(main())
