"""``python -m lab.bench.page_bench``: measures the page in a browser against budgets.

It measures the start of a process, the first paint and picture, the size of the page, the time from
an edit to its picture for every grammar of the gallery, the time the page adds to a run (compared
with the same run in ``paced``), the longest interval without a frame in a run of a thousand tokens,
and requests to other machines.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


#: Milliseconds since the beginning of the visit, of the first paint and of now.
FIRST = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  picture: performance.now(),
})"""

#: Open an example, change its grammar as a keystroke would, and wait for the picture.
EDIT = """async (name) => {
  const sleep = (ms) => new Promise((go) => setTimeout(go, ms));
  const drawn = async (text) => {
    const there = () => wb.state.drawn?.text === text;
    const stale = () => document.querySelector("#wb-picture .pic.stale");
    for (let tries = 0; tries < 2000 && (!there() || stale()); tries++) await sleep(4);
    if (!there()) return null;
    await new Promise(requestAnimationFrame);
    return performance.now();
  };
  const picker = document.querySelector("#wb-header select");
  picker.value = String(wb.state.gallery.findIndex((example) => example.name === name));
  picker.dispatchEvent(new Event("change", { bubbles: true }));
  await drawn(wb.state.text);
  while (wb.state.running) await sleep(20);
  await sleep(300);
  const area = document.querySelector("#wb-grammar textarea.text"), text = wb.state.text;
  // the machine changes too, or its old picture would be known
  const property = text.match(/"properties"\\s*:\\s*{\\s*("\\w+)"/)?.[1];
  const edits = {
    regex: () => text + "q?",
    json_schema: () => text.replaceAll(property + '"', property + 'q"'),
    dataclass: () => text.replace(/^( {4}[a-z]\\w*):/m, "$1q:"),
    lark: () => text.replace(/(:[^\\n]*?")/, "$1q"),
  };
  const edited = (edits[wb.state.notation] ?? (() => text.replace(/(::=[^;]*?['"])/s, "$1q")))();
  const begun = performance.now();
  area.value = edited;
  area.dispatchEvent(new Event("input", { bubbles: true }));
  const end = await drawn(edited);
  return { ms: end === null ? null : end - begun, ok: wb.state.compiled.ok };
}"""

#: Run a number of tokens; returns the page's time, the engine's time, the longest frame interval.
RUN = """async ({ text, tokens }) => {
  const until = async (there) => {
    while (!there()) await new Promise((go) => setTimeout(go, 20));
  };
  const settings = { max_tokens: tokens, temperature: 1, seed: 1 };
  wb.emit("open", { text, notation: "regex", prompt: "", settings });
  const button = document.querySelector("#wb-run .go");
  await until(() => wb.state.compiled?.text === text && !button.disabled);
  document.querySelector("#wb-run input.max").value = String(tokens);
  let longest = 0, last = performance.now(), on = true;
  const frame = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    if (on) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const begun = performance.now();
  button.click();
  await until(() => wb.state.running);
  await until(() => !wb.state.running);
  const wall = performance.now() - begun;
  await new Promise((go) => setTimeout(go, 300));
  on = false;
  const steps = wb.state.steps;
  const engine = steps.reduce((sum, { ms }) => sum + ms.model + ms.mask + (ms.advance || 0), 0);
  return { wall, engine, longest, tokens: steps.length };
}"""


#: Time limits: seconds for the server, milliseconds for the browser.
_TIMEOUT = 60
_TIMEOUT_MS = 120_000

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]

#: Starts of the process and of the page; the median counts.
_REPETITIONS = 5

#: Tokens of the run whose overhead is measured, and of the long one.
_STEADY_TOKENS, _LONG_TOKENS = 300, 1_000

#: Tokens a second of the model in these runs.
_PACE = "100"

#: A grammar whose texts are longer than these runs.
_ENDLESS = "[a-z ]{9000,}"


class PageBenchError(Exception):
    """The page cannot be measured on this machine; says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One budget: name, unit, target and measured value."""

    name: str
    unit: str
    target: float
    measured: float
    #: Further observations.
    note: str = ""

    @property
    def good(self) -> bool:
        return self.measured <= self.target


@contextmanager
def served(*module: str) -> Iterator[tuple[str, float, int]]:
    """A page in a separate process: its address, the seconds until it answered, the process id.

    Raises: PageBenchError where it does not start.
    """
    begun = time.perf_counter()
    command = [sys.executable, "-P", "-m", *module]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        first_line = process.stdout.readline()
        found = re.search(r"https?://\S+", first_line)
        if not found:
            _, errors = process.communicate(timeout=_TIMEOUT)
            raise PageBenchError(f"the page did not start: {errors.strip()[-400:]}")
        with urlopen(found[0], timeout=_TIMEOUT) as answer:
            answer.read()
        yield found[0], time.perf_counter() - begun, process.pid
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium.

    Raises: PageBenchError where Playwright or a browser is missing.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise PageBenchError(
            "measuring the page needs Playwright: pip install playwright, then playwright install"
            " chromium (or apt install chromium)"
        ) from None
    named = os.environ.get("WORKBENCH_BROWSER") or next(
        filter(None, map(shutil.which, _BROWSERS)), ""
    )
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        found = named or (own if Path(own).exists() else "")
        if not found:
            raise PageBenchError("measuring the page needs a browser: playwright install chromium")
        opened = playwright.chromium.launch(executable_path=found, args=_FLAGS)
        yield opened
        opened.close()


@contextmanager
def visit(opened: Browser, address: str, outside: list[str]) -> Iterator[Page]:
    """A visit with an empty cache; requests to other hosts are recorded and blocked."""
    context = opened.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(_TIMEOUT_MS)

    def guard(route: Any) -> None:  # noqa: ANN401  # Playwright's
        url = route.request.url
        if url.startswith((address, "data:", "blob:", "about:")):
            route.continue_()
        else:
            outside.append(url)
            route.abort()

    page.route("**/*", guard)
    yield page
    context.close()


# -- what is measured ---------------------------------------------------------------------------


def ready() -> Row:
    """Seconds from the start of a process without torch to its first answer."""
    found, work, torch = [], [], False
    for _ in range(_REPETITIONS):
        with served("workbench", "serve", "--port", "0", "--no-open", "--model", "toy") as page:
            found.append(page[1])
            process = Path(f"/proc/{page[2]}")
            if process.exists():
                torch |= "torch" in (process / "maps").read_text()
                ticks = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
                work.append(sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))
    note = f"best {min(found):.2f}"
    note += f", of the processor's time {min(work):.2f}" if work else ""
    note += ", torch was loaded" if torch else ""
    return Row("process ready without torch", "s", 3.0, statistics.median(found), note)


def painted(opened: Browser, address: str, outside: list[str]) -> list[Row]:
    """First paint, first picture, and the bytes transferred until both are shown."""
    paints, pictures, weights, requests = [], [], [], 0
    for _ in range(_REPETITIONS):
        with visit(opened, address, outside) as page:
            devtools = page.context.new_cdp_session(page)
            sizes: list[float] = []
            devtools.on(
                "Network.loadingFinished", lambda e, to=sizes: to.append(e["encodedDataLength"])
            )
            devtools.send("Network.enable")
            page.goto(address)
            page.wait_for_selector("#wb-picture svg .node")
            times = page.evaluate(FIRST)
            page.wait_for_load_state("networkidle")
            paints.append(times["paint"] / 1000)
            pictures.append(times["picture"] / 1000)
            weights.append(sum(sizes) / 1000)
            requests = len(sizes)
    return [
        Row("first paint", "s", 1.5, statistics.median(paints), f"best {min(paints):.2f}"),
        Row("first picture", "s", 1.5, statistics.median(pictures), f"best {min(pictures):.2f}"),
        Row("page weight", "KB", 450, max(weights), f"{requests} requests"),
    ]  # fmt: skip


def edited(opened: Browser, address: str, outside: list[str]) -> Row:
    """Milliseconds from a key to the picture, for the slowest grammar of the gallery."""
    with visit(opened, address, outside) as page:
        page.goto(address)
        page.wait_for_selector("#wb-picture svg .node")
        page.wait_for_function("!wb.state.running")
        names = page.evaluate("wb.state.gallery.map((example) => example.name)")
        page.evaluate(EDIT, names[0])  # fills the page's caches, outside the measured edits
        found = {name: page.evaluate(EDIT, name) for name in names}
    times = {name: one["ms"] for name, one in found.items() if one["ms"] is not None and one["ok"]}
    slow = [name for name, ms in times.items() if ms > 400]
    left = sorted(set(names) - set(times))
    slowest = max(times, key=times.__getitem__)
    note = f"median {statistics.median(times.values()):.0f}, slowest {slowest}"
    note += f", over: {', '.join(slow)}" if slow else ""
    note += f", not drawn: {', '.join(left)}" if left else ""
    return Row(f"edit to picture, {len(times)} grammars", "ms", 400, max(times.values()), note)


def plain() -> float:
    """Milliseconds of the steady run in the library, without a page."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "lab.bench.paced",
        _PACE,
        str(_STEADY_TOKENS),
        _ENDLESS,
    ]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def ran(opened: Browser, address: str, outside: list[str]) -> list[Row]:
    """The time the page adds to a run, and its longest interval without a frame in a long run.

    The page is compared with the same run in the library, just before and just after it.
    """
    before = plain()
    with visit(opened, address, outside) as page:
        page.goto(address)
        page.wait_for_function("window.wb?.state.compiled && !wb.state.running")
        page.evaluate(
            RUN, {"text": _ENDLESS, "tokens": 20}
        )  # fills the caches of masks and pictures
        steady = page.evaluate(RUN, {"text": _ENDLESS, "tokens": _STEADY_TOKENS})
        long = page.evaluate(RUN, {"text": _ENDLESS, "tokens": _LONG_TOKENS})
    alone = (before + plain()) / 2
    share = 100 * (steady["wall"] / alone - 1)
    own = 100 * (steady["wall"] / steady["engine"] - 1)
    rate = f"{1000 * steady['tokens'] / steady['wall']:.1f} tokens/s, {steady['tokens']} tokens"
    rate += f"; over model, masks and states {own:.0f} %"
    interval = f"longest frame interval in {long['tokens']:,} tokens"
    return [
        Row("added by the page at 100 tokens/s", "%", 5.0, share, rate),
        Row(interval, "ms", 500, long["longest"], f"{long['wall'] / 1000:.1f} s in all"),
    ]


def measured() -> Iterator[Row]:
    """Every budget, as soon as it is measured.

    Raises: PageBenchError where the page cannot be measured on this machine.
    """
    outside: list[str] = []
    with browser() as opened:
        yield ready()
        with served("workbench", "serve", "--port", "0", "--no-open") as (address, _, _pid):
            yield from painted(opened, address, outside)
            yield edited(opened, address, outside)
        with served("lab.bench.paced", _PACE) as (address, _, _pid):
            yield from ran(opened, address, outside)
    seen = ", ".join(sorted(set(outside))[:4])
    yield Row("requests to anywhere outside", "", 0, len(outside), seen)


def line(row: Row) -> str:
    """A row of the table."""
    figure = f"{row.measured:.2f}" if row.unit == "s" else f"{row.measured:.0f}"
    measured = f"{figure} {row.unit}".strip()
    aim = f"{'<' if row.target else ''} {row.target:g} {row.unit}".strip()
    return (
        f"{'✓' if row.good else '✗'} {row.name:<36} {aim:>10} {measured:>10}  {row.note}".rstrip()
    )


def main(arguments: Sequence[str]) -> int:
    """Print the table; returns 0 if every budget is met."""
    rows = []
    try:
        for row in measured():
            rows.append(row)
            print(
                json.dumps({**asdict(row), "good": row.good})
                if "--json" in arguments
                else line(row),
                flush=True,
            )
    except PageBenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return int(not all(row.good for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
