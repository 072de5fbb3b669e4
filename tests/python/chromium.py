"""Opens a page in headless Chromium and returns the document as it stands after its scripts ran."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_S = 120


@dataclass(frozen=True)
class Opened:
    """The document after the scripts ran, and what they complained of."""

    document: str
    errors: list[str]


def find() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium: the page is not opened (Debian: apt install chromium)")
    return found


def open_page(page: Path, *options: str) -> Opened:
    command = [find(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent / 'profile'}"]
    command += ["--enable-logging=stderr", "--window-size=1280,1600", "--virtual-time-budget=30000", *options]
    done = subprocess.run([*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=TIMEOUT_S)
    errors = [line for line in done.stderr.splitlines() if re.search(r"CONSOLE.*(error|refused|uncaught)", line, re.I)]
    return Opened(done.stdout, errors)


def open_with_script(page: Path, script: str) -> Opened:
    """The page with a script of the test's at its end; the page's security policy, which forbids that, is taken out."""
    text = page.read_text("utf-8")
    text = re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", text)
    changed = page.with_name("with-script.html")
    changed.write_text(text.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    return open_page(changed)
