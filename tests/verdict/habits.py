"""Python programs whose cause is a habit: habits.py NAME DIRECTORY."""

import dbm.dumb
import gzip
import json
import logging
import logging.handlers
import os
import random
import sys
import tarfile
import zipfile
from pathlib import Path


def rotating():
    """Python 3.11 looks twice at the file before each record."""
    handler = logging.handlers.RotatingFileHandler("app.log", maxBytes=1 << 30)
    log = logging.getLogger("app")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    for step in range(8000):
        log.info("step %d", step)
        Path("app.log").exists()


def look_and_open():
    for i in range(200):
        Path(f"part.{i}").write_text("words")
    for _ in range(200):
        for i in range(200):
            part = Path(f"part.{i}")
            if part.exists() and part.is_file() and not part.is_symlink() and part.stat().st_size:
                os.close(os.open(part, os.O_RDONLY))


def keys():
    """What shelve takes where nothing better is installed opens its files for each key."""
    with dbm.dumb.open("state", "c") as state:
        for i in range(4000):
            state[str(i)] = b"value"


def open_for_each():
    for _ in range(4000):
        with Path("state.dat").open("ab") as state:
            state.write(b"value")


def archive():
    """On one line, which reads text and writes it packed."""
    lines = b"".join(b"%d %f\n" % (i, i / 7) for i in range(20_000))
    for i in range(40):
        Path(f"part.{i}").write_bytes(lines)
    with tarfile.open("all.tar.gz", "w:gz") as file:
        [file.add(f"part.{i}") for i in range(40)]


def zip_members():
    """Each is packed as a whole before it is written."""
    member = bytes(random.Random(1).choices(range(16), k=2_000_000))
    with zipfile.ZipFile("out.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for i in range(6):
            file.writestr(f"member.{i}", member)


def zip_stored():
    member = bytes(random.Random(1).choices(range(16), k=2_000_000))
    with zipfile.ZipFile("out.zip", "w", zipfile.ZIP_STORED) as file:
        for i in range(6):
            file.writestr(f"member.{i}", member)


def gzip_text():
    text = "".join(f"{i / 7}\n" for i in range(300_000))
    with gzip.open("out.gz", "wt") as file:
        file.write(text)


def json_text():
    state = {f"value {i}": [i / 7, i / 3] for i in range(100_000)}
    Path("state.json").write_text(json.dumps(state))


def compute_and_note():
    """A few bytes of text after much computation."""
    total = sum(i % 7 for i in range(20_000_000))
    Path("note.json").write_text(json.dumps(total))


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    globals()[sys.argv[1]]()
