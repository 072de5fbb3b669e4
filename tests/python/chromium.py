"""Pages in headless Chromium, used as a person uses them: through Playwright, with the system's own
browser."""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# As root there is no sandbox; the rest keeps the browser from asking the network for anything.
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TIMEOUT_S = 300
DRAWN = "[...document.querySelectorAll('details.run[open]')].every(run => run.dataset.drawn)"


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


@contextmanager
def opened(page: Path, fragment: str = "", **context: Any) -> Iterator[Any]:
    """Playwright's page with `page` in it, every timeline in an open section drawn; what scripts
    complained of is in its list `complaints`. `context`: viewport, color_scheme, has_touch, …"""
    tab = (
        _browser().new_context(**{"viewport": {"width": 1280, "height": 1600}} | context).new_page()
    )
    try:
        tab.set_default_timeout(1000 * TIMEOUT_S)
        tab.complaints = []
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("console", lambda message: _note(tab.complaints, message))
        tab.goto(page.as_uri() + fragment)
        if context.get("java_script_enabled", True):
            until(tab, DRAWN)
        yield tab
    finally:
        tab.context.close()


def until(tab: Any, expression: str) -> None:
    """Waits until the page's scripts make the expression true. (Playwright's own way of waiting
    evaluates inside the page, which the page's security policy forbids.)"""
    deadline = time.monotonic() + TIMEOUT_S
    while not tab.evaluate(expression):
        assert time.monotonic() < deadline, f"never became true: {expression}"
        time.sleep(0.02)


@functools.cache
def _browser() -> Any:
    """Started once, as that takes longer than most tests."""
    sync_api = pytest.importorskip("playwright.sync_api")
    executable = find()
    playwright = sync_api.sync_playwright().start()
    atexit.register(playwright.stop)
    browser = playwright.chromium.launch(executable_path=executable, args=list(OPTIONS))
    atexit.register(browser.close)
    return browser


def _note(complaints: list[str], message: Any) -> None:
    if message.type == "error":
        complaints.append(message.text)


def open_page(page: Path, **context: Any) -> Opened:
    with opened(page, **context) as tab:
        return Opened(tab.content(), list(tab.complaints))


def print_with_command_line(page: Path) -> Path:
    """`chromium --print-to-pdf`, as people print pages in scripts: it waits for nothing."""
    target = page.with_suffix(".pdf")
    profile = page.parent / "profile"
    options = [*OPTIONS, f"--user-data-dir={profile}", f"--print-to-pdf={target}"]
    subprocess.run(
        [find(), "--headless", *options, "--no-pdf-header-footer", page.as_uri()],
        check=True,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    return target
