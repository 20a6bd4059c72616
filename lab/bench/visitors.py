"""``python -m lab.bench.visitors 50 60``: the page under many visitors, for some seconds.

Each visitor edits a grammar, checks texts, looks at a picture, asks for advice and runs the
embedded model for at most 60 tokens, with pauses of 0.3 to 1.5 seconds. A third number is that of
simultaneous requests for pictures that take half a second each, all from one further address; a
fourth that of further addresses that each send grammars and holes that take all the seconds a text
may take. The page runs in a separate process at this machine's own address; each visitor has
another address, as behind a proxy. The command prints the time of each kind of answer, how often
the server was busy, what failed, and the memory of the server.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import string
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from httpx import AsyncClient

#: Seconds before a visitor asks a busy server again, as on the page (``static/state.js``).
WAITS = (1, 2, 4, 8)

_PATTERNS = ("a(b|c)*d{%d}", "[a-z]{3,%d}", r"(\d{2}:){%d}\d", "(yes|no|maybe){1,%d}")


@dataclass(slots=True)
class Results:
    """Seconds of answers by kind, and what else happened."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    events: Counter[str] = field(default_factory=Counter)
    megabytes: tuple[int, int] = (0, 0)

    def table(self) -> str:
        """A line for each kind: how many answers, the median, the 95th percentile, the longest."""
        lines = ["kind              answers   median ms   95 % ms   longest ms"]
        for kind, all_seconds in sorted(self.seconds.items()):
            times = sorted(1000 * one for one in all_seconds)
            late = times[int(0.95 * (len(times) - 1))]
            lines.append(
                f"{kind:18}{len(times):7,}{median(times):12,.0f}{late:10,.0f}{times[-1]:13,.0f}"
            )
        before, after = self.megabytes
        lines.append(f"memory: {before:,} MB before, {after:,} MB after")
        lines += [f"{what}: {number:,}" for what, number in sorted(self.events.items())]
        return "\n".join(lines)


async def run_kinds(client: AsyncClient, run: dict[str, Any], headers: dict[str, str]) -> list[str]:
    """The kinds of the records of a run of the page, such as ``step``; none if it is refused."""
    answer = await client.post("/wb/run", json=run, headers=headers)
    if answer.status_code != 200:
        return []
    return [json.loads(line)["k"] for line in answer.text.splitlines()]


class Visitor:
    """One visitor, with an address."""

    def __init__(self, client: AsyncClient, number: int, results: Results) -> None:
        self._client, self._results = client, results
        self._headers = {"x-forwarded-for": f"10.0.{number // 256}.{number % 256}"}
        self._random = Random(number)

    async def visit(self, ends: float) -> None:
        """Work with the page until a moment of ``time.monotonic``."""
        while time.monotonic() < ends:
            text = self._random.choice(_PATTERNS) % self._random.randint(3, 40)
            grammar = {"text": text, "notation": "regex", "start": "start", "options": {}}
            await self.ask("compile_grammar", grammar)
            await asyncio.gather(
                self.ask("check_texts", {**grammar, "texts": ["abcd", "12"]}),
                self.ask("draw_machine", {**grammar, "tab": "characters"}),
            )
            await self._pause()
            await self.ask("lint_grammar", grammar)
            await self._pause()
            await self._generate(text)
            await self._pause()

    async def flood(self, ends: float) -> None:
        """Ask for pictures that take long, one after another."""
        while time.monotonic() < ends:
            count = self._random.randrange(10**6)
            text = f"(a|b)*a(a|b){{{40 + count % 40}}}|x{count}"
            await self.ask("draw_machine", {"text": text, "notation": "regex"}, "flood", waits=())
            await asyncio.sleep(0.1)

    async def exhaust(self, ends: float) -> None:
        """Send grammars and holes that take all the seconds of a text, one after another."""
        while time.monotonic() < ends:
            count = self._random.randrange(10**6)
            looks = "".join(f"(?=.*{letter}.*{letter})" for letter in string.ascii_lowercase)
            nested = f"start ::= {'(' * 60}'a'{')*' * 60} '{count}'?;"
            hole = {"prefix": "a" * 40, "suffix": "a" * 40}
            sent = self._random.choice(
                (
                    {"text": f"{looks}.*{count}", "notation": "regex"},
                    {"text": nested, "notation": "kbnf", "hole": hole},
                )
            )
            await self.ask("compile_grammar", sent, "exhaust", waits=())
            await asyncio.sleep(0.1)

    async def ask(
        self, name: str, sent: dict[str, Any], kind: str = "", waits: tuple[int, ...] = WAITS
    ) -> None:
        for wait in (*waits, None):
            began = time.monotonic()
            answered = await self._client.post(f"/wb/ask/{name}", json=sent, headers=self._headers)
            answer = answered.json() if answered.status_code == 200 else None
            if isinstance(answer, dict) and "busy" in answer:
                self._results.events[f"busy: {kind or name}"] += 1
                if wait is not None:
                    await asyncio.sleep(wait)
                continue
            if not isinstance(answer, dict) or "fault" in answer:
                self._results.events[f"failed: {kind or name}"] += 1
            self._results.seconds[kind or name].append(time.monotonic() - began)
            return

    async def _generate(self, text: str) -> None:
        seed, began = self._random.randrange(10**6), time.monotonic()
        run = {"text": text, "notation": "regex", "prompt": "Hello", "max_tokens": 60, "seed": seed}
        if "stop" not in await run_kinds(self._client, run, self._headers):
            self._results.events["failed: run"] += 1
            return
        self._results.seconds["run"].append(time.monotonic() - began)

    async def _pause(self) -> None:
        await asyncio.sleep(self._random.uniform(0.3, 1.5))


async def measured(
    url: str, visitors: int, flooding: int, seconds: float, exhausting: int = 0
) -> Results:
    """What visitors of a page measure, beside others that only send what takes long."""
    import httpx

    results = Results()
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        first = Visitor(client, 0, Results())
        await first.visit(time.monotonic() + 1)  # the model is loaded
        ends = time.monotonic() + seconds

        async def files() -> None:
            while time.monotonic() < ends:
                began = time.monotonic()
                await client.get("/favicon.ico")
                results.seconds["file"].append(time.monotonic() - began)
                await asyncio.sleep(0.3)

        every = [Visitor(client, 1 + n, results).visit(ends) for n in range(visitors)]
        # all of a flood have one address
        floods = [Visitor(client, 0, results).flood(ends) for _ in range(flooding)]
        numbers = range(visitors + 1, visitors + exhausting + 1)
        costly = [Visitor(client, number, results).exhaust(ends) for number in numbers]
        await asyncio.gather(files(), *every, *floods, *costly)
    return results


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """The address of the page and its process, until the end of the block."""
    command = [sys.executable, "-m", "workbench", "serve", "--port", "0", "--no-open"]
    with subprocess.Popen(
        [*command, "--behind-proxy"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            while not (found := re.search(r"http://[0-9.:]+", line := process.stdout.readline())):
                if not line:
                    raise SystemExit("the page did not start")
            yield found[0], process.pid
        finally:
            process.terminate()


def megabytes(process: int) -> int:
    """The memory that a process uses; 0 where the system does not say it."""
    status = Path(f"/proc/{process}/status")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text()) if status.exists() else None
    return int(found[1]) // 1024 if found else 0


def cpu_seconds(process: int) -> float:
    """The processor time that a process has used; 0 where the system does not say it."""
    status = Path(f"/proc/{process}/stat")
    if not status.exists():
        return 0.0
    user, system = status.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main(visitors: int = 50, seconds: float = 60.0, flooding: int = 0, exhausting: int = 0) -> None:
    """Serve the page, measure it, and print the table."""
    with served() as (url, process):
        asyncio.run(measured(url, 2, 0, 3.0))  # the first pictures and masks
        before = megabytes(process)
        results = asyncio.run(measured(url, visitors, flooding, seconds, exhausting))
        results.megabytes = before, megabytes(process)
    print(results.table())


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:]))
