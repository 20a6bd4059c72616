"""The page in a real browser; nothing here may reach outside this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

#: Where pictures of the page are put.
ROOT = Path(__file__).resolve().parents[2]
ARTIFACTS = ROOT / "artifacts"

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

#: Milliseconds until a test gives up: none waits for a time, so this is for machines with much to do.
PATIENCE = 120_000

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # any other address is unknown to the browser
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *.localhost",
]


def _missing(what: str, command: str) -> None:
    told = f"{what} is not installed: {command}"
    if os.environ.get("WORKBENCH_REQUIRE_BROWSER") == "1":
        pytest.fail(told)
    pytest.skip(told)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("Playwright", "pip install playwright")
    found = os.environ.get("WORKBENCH_BROWSER") or next(filter(None, map(shutil.which, _NAMES)), "")
    with sync_playwright() as playwright:
        if not found and Path(playwright.chromium.executable_path).exists():
            found = playwright.chromium.executable_path
        if not found:
            _missing("Chromium", "apt install chromium, or playwright install chromium")
        opened = playwright.chromium.launch(executable_path=found, args=_FLAGS, timeout=PATIENCE)
        yield opened
        opened.close()


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The address of a page in a separate process.

    Gradio's threads raise warnings, which are errors in this process.
    """
    command = [sys.executable, "-m", "tests.browser.server", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as served:
        assert served.stdout is not None
        url = served.stdout.readline().strip()
        assert url.startswith("http"), "the page did not start"
        yield url
        served.terminate()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The page, served with a small model that answers immediately."""
    with served() as url:
        yield url


@pytest.fixture(scope="module")
def builtin_page() -> Iterator[str]:
    """The page with the embedded model."""
    with served("builtin") as url:
        yield url


#: Unfolds the options, the chart and the exports, as a reader who uses them has done before.
UNFOLDED = """try {
  for (const key of ["options", "charts", "export"].map((name) => "wb:1:open " + name))
    if (localStorage.getItem(key) === null) localStorage.setItem(key, "true");
} catch {} // a document without storage"""


@dataclass
class Visit:
    """One visitor's tab, with its requests and its console errors."""

    page: Page
    #: Requests to anywhere but the page's own address; the browser finds no other one.
    outside: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def request(self, url: str, address: str) -> None:
        """Take note of a request, if it is none to the page's ``address``."""
        if not url.startswith((address, "data:", "blob:", "about:")):
            self.outside.append(url)

    def shot(self, name: str) -> None:
        """Save a screenshot if WORKBENCH_SHOTS is set."""
        if os.environ.get("WORKBENCH_SHOTS"):
            ARTIFACTS.mkdir(exist_ok=True)
            self.page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True)

    def type_grammar(self, text: str) -> None:
        self.page.fill("#wb-grammar textarea.text", text)

    def open_tab(self, tab: str) -> None:
        """Choose a tab of the picture, in its row or in the More menu, and wait for its picture."""
        button = self.page.locator(f"#wb-picture [data-tab={tab}]")
        if not button.is_visible():
            self.page.click("#wb-picture .moretabs > button")
        button.click()
        self.page.wait_for_function("tab => wb.state.drawn?.tab === tab", arg=tab)
        self.page.wait_for_selector("#wb-picture .pic.main:not(.stale)", state="attached")

    def wait_drawn(self) -> None:
        """Wait until the picture is that of this text and tab; before, an older one may be shown."""
        self.page.wait_for_function(
            "wb.state.drawn && wb.state.drawn.text === wb.state.text"
            " && wb.state.drawn.tab === wb.state.tab"
        )
        self.page.wait_for_selector("#wb-picture .pic:not(.stale) svg .node")

    def wait_run(self) -> None:
        """Wait until a run is over and the facts of one of its tokens are shown."""
        self.page.wait_for_selector("#wb-run .insp:not([hidden])")
        self.page.wait_for_selector("#wb-run .halt:disabled")

    def run(self) -> None:
        """Begin a run as soon as it is possible, and wait until it is over."""
        self.page.click("#wb-run .go")
        self.wait_run()

    def link(self) -> str:
        """The link that *Share* makes, without the page's address."""
        self.page.click("#wb-header .share")
        self.page.wait_for_function("location.hash.startsWith('#g=')")
        return str(self.page.evaluate("location.hash"))


Visitor = Callable[..., Any]


class Profiles:
    """Browser contexts for visits one after another, each without the storage of those before.

    A context of its own for each visit would fetch and compile the page's scripts again, in a new
    process: 3.5 seconds of processor time instead of 1.4.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        #: Contexts without a visit, each with a tab of the visited site, which keeps its process.
        self._free: list[tuple[BrowserContext, Page]] = []

    @contextmanager
    def tab(self, address: str) -> Iterator[Page]:
        """A new tab for the page at an address, whose storage is empty."""
        context, kept = self._free.pop() if self._free else self._new()
        if not kept.url.startswith(address):
            kept.goto(f"{address}favicon.ico")
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        try:
            yield page
        finally:
            for each in context.pages:
                if each is not kept:
                    each.close()  # or a run of a test that failed would hold the model of the next
            kept.evaluate("localStorage.clear()")
            context.clear_cookies()
            self._free.append((context, kept))

    def _new(self) -> tuple[BrowserContext, Page]:
        context = self._browser.new_context()
        return context, context.new_page()

    def close(self) -> None:
        for context, _ in self._free:
            context.close()


@pytest.fixture(scope="session")
def profiles(browser: Browser) -> Iterator[Profiles]:
    opened = Profiles(browser)
    yield opened
    opened.close()


@pytest.fixture
def visit(profiles: Profiles, address: str) -> Visitor:
    """A function that opens the page; an error in the browser fails the test."""
    return visitor(profiles, address)


@pytest.fixture
def visit_builtin(profiles: Profiles, builtin_page: str) -> Visitor:
    """The same for the page with the embedded model."""
    return visitor(profiles, builtin_page)


def visitor(profiles: Profiles, address: str) -> Visitor:
    """A function that opens the page at an address."""

    @contextmanager
    def opened(
        where: str = "",
        *,
        width: int = 1400,
        height: int = 1000,
        dark: bool = False,
        motion: bool = False,
        before: str = "",
        folded: bool = False,
    ) -> Iterator[Visit]:
        with profiles.tab(address) as page:
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(
                color_scheme="dark" if dark else "light",
                reduced_motion="no-preference" if motion else "reduce",
            )
            if not folded:
                page.add_init_script(UNFOLDED)
            if before:
                page.add_init_script(before)
            visitor = Visit(page)
            page.on("request", lambda asked: visitor.request(asked.url, address))
            page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
            page.on(
                "console",
                lambda said: visitor.complaints.append(said.text) if said.type == "error" else None,
            )
            page.goto(address + where)
            page.wait_for_function("window.wb?.ready")
            # there, if not seen: a link to a lesson shows no editor
            page.wait_for_selector("#wb-grammar .paint .l", state="attached")
            yield visitor
            assert visitor.outside == []
            assert visitor.complaints == []

    return opened
