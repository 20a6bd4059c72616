"""Takes the pictures of README and the documentation: ``python -m lab.readme_pictures``.

The first screen in both colour schemes, and a recording: a grammar is typed, run, and asked why a
token was refused. Needs the extra ``test`` and Chromium.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PIL import Image
from playwright.sync_api import sync_playwright

from workbench.app.ui.serve import ServeSettings, start

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_ROOT = Path(__file__).resolve().parents[1]
_DOCS = _ROOT / "docs"
_SIZE = (1400, 900)
#: The recording: its size in pixels, its colours, and the milliseconds of an ordinary frame.
_SMALL, _COLOURS, _FRAME = (980, 630), 48, 120

_GRAMMAR = "start ::= ' ' pet (' and a ' pet)? '.';\npet ::= 'cat' | 'cake' | 'dog';"
_PROMPT = "She opened the door and saw a"
_DRAWN = "window.wb?.state.compiled?.ok && document.querySelector('#wb-picture svg')"
_LOADED = "document.body.innerText.includes('6,000 tokens')"

Scheme = Literal["light", "dark"]


def _opened(browser: Browser, address: str, scheme: Scheme) -> Page:
    """The page, once its picture is drawn."""
    width, height = _SIZE
    page = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme
    ).new_page()
    page.goto(address)
    page.wait_for_function(_DRAWN)
    page.wait_for_function(_LOADED)
    page.wait_for_timeout(3_000)  # until the callout and the flags are there
    return page


def _picture(browser: Browser, address: str, scheme: Scheme) -> None:
    """The first screen as a file of few colours."""
    shot = Image.open(io.BytesIO(_opened(browser, address, scheme).screenshot()))
    few = shot.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(_DOCS / f"first-screen-{scheme}.png", optimize=True)


class _Film:
    """Frames of a page, each with the milliseconds it is shown."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.frames: list[Image.Image] = []
        self.durations: list[int] = []

    def take(self, shown: int = _FRAME) -> None:
        shot = Image.open(io.BytesIO(self._page.screenshot())).convert("RGB")
        self.frames.append(shot.resize(_SMALL, Image.Resampling.LANCZOS))
        self.durations.append(shown)

    def type(self, text: str, at_once: int) -> None:
        """Type a text, some characters a frame."""
        for low in range(0, len(text), at_once):
            self._page.keyboard.type(text[low : low + at_once])
            self.take()

    def save(self, path: Path) -> None:
        """Write the film; all frames have the colours of the last one."""
        colours = self.frames[-1].quantize(_COLOURS, dither=Image.Dither.NONE)
        first, *others = (
            frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in self.frames
        )
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=self.durations,
            loop=0,
            optimize=True,
        )


def _recording(browser: Browser, address: str) -> None:
    """About ten seconds: type a grammar, run it, open the reason of a refused token."""
    page = _opened(browser, address, "light")
    film = _Film(page)
    film.take(600)
    page.click("#wb-grammar textarea")
    page.keyboard.press("Control+a")
    film.type(_GRAMMAR, 4)
    page.fill("#wb-grammar textarea.prompt", _PROMPT)
    page.wait_for_function(_DRAWN)
    page.wait_for_timeout(1_200)
    film.take(900)
    page.click("#wb-run .go")
    for _ in range(8):
        page.wait_for_timeout(150)
        film.take()
    page.wait_for_selector("#wb-run .go:enabled")
    page.wait_for_timeout(800)
    film.take(1_400)
    page.click("text=See why")
    page.wait_for_timeout(1_200)
    film.take(2_600)
    film.save(_DOCS / "recording.gif")


def main() -> None:
    """Take all pictures."""
    page = start(ServeSettings(port=0, quiet=True), None)
    assert page.local_url is not None, "it is served here"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        schemes: tuple[Scheme, ...] = ("light", "dark")
        for scheme in schemes:
            _picture(browser, page.local_url, scheme)
        _recording(browser, page.local_url)
        browser.close()
    page.close()


if __name__ == "__main__":
    main()
