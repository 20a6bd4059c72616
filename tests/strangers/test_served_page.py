"""Floods, hogs and storms against a served page, on this machine's own address only.

Each visitor has an address, as a proxy would report it. Which of two answers comes first is
compared, never seconds: what one visitor asks must not decide how long another one waits.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any

import httpx
import pytest

from workbench.app.ui.api import Endpoints

pytestmark = [pytest.mark.slow, pytest.mark.strangers]

#: Questions of a flood: as many as took the whole page down before there was admission.
FLOOD = 45


class Page:
    """A served page, and the ways to ask it."""

    def __init__(self, url: str, process: int) -> None:
        self.url = url
        self.process = process
        self.http = httpx.Client(base_url=url, timeout=120)

    def ask(self, visitor: str, name: str, **sent: Any) -> Any:
        """The answer to a question of the page's scripts."""
        answered = self.http.post(f"/wb/ask/{name}", json=sent, headers=address(visitor))
        assert answered.status_code == 200, answered.text[:200]
        return answered.json()

    def run(self, visitor: str, **sent: Any) -> list[dict[str, Any]]:
        """The records of a run of the page, or of a comparison where methods are sent."""
        name = "compare" if "methods" in sent else "run"
        answered = self.http.post(f"/wb/{name}", json=sent, headers=address(visitor))
        assert answered.status_code == 200, answered.text[:200]
        return [json.loads(line) for line in answered.text.splitlines()]

    def call(self, visitor: str, name: str, *given: Any) -> httpx.Response:
        """Begin a call of the API."""
        return self.http.post(
            f"/gradio_api/call/{name}", json={"data": given}, headers=address(visitor)
        )

    def events(self, name: str, event: str) -> str:
        """What the call sent, at its end."""
        return self.http.get(f"/gradio_api/call/{name}/{event}").text

    def megabytes(self) -> int:
        """The memory that the server uses."""
        status = Path(f"/proc/{self.process}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return int(found[1]) // 1024


def generate_settings(text: str, tokens: int) -> list[Any]:
    """The arguments of the endpoint ``generate``, in its order."""
    given = {"text": text, "prompt": "Hello", "max_tokens": tokens, "seed": 1}
    parameters = list(signature(Endpoints.generate).parameters.values())[1:]  # without self
    return [given.get(one.name, one.default) for one in parameters]


def address(visitor: str) -> dict[str, str]:
    """The header with which a proxy reports a visitor's address."""
    digest = hashlib.sha256(visitor.encode()).digest()
    return {"x-forwarded-for": f"10.{digest[0]}.{digest[1]}.{digest[2]}"}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    command = [sys.executable, "-m", "workbench", "serve", "--port", "0", "--no-open"]
    with subprocess.Popen(
        [*command, "--behind-proxy"], stdout=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        found = re.search(r"http://[0-9.:]+", served.stdout.readline())
        assert found
        opened = Page(found[0], served.pid)
        regex = {"text": "ab", "notation": "regex"}
        assert opened.ask("first", "turn", **regex)["ok"]  # the model is loaded
        yield opened
        opened.http.close()
        served.terminate()


def costly(number: int) -> dict[str, Any]:
    """A text that no other question has, with half a second of work."""
    return {"text": f"(a|b)*a(a|b){{{40 + number % 40}}}|x{number}", "notation": "regex"}


def test_a_flood_of_questions_does_not_stop_others(page: Page) -> None:
    with ThreadPoolExecutor(FLOOD) as pool:
        flood: list[Future[Any]] = [
            pool.submit(page.ask, "flood", "draw_machine", **costly(number), tab="characters")
            for number in range(FLOOD)
        ]
        wait(flood, return_when="FIRST_COMPLETED")
        for number in range(3):
            text = {"text": f"[0-9]{{2}}:{number}", "notation": "regex"}
            assert page.http.get("/favicon.ico").status_code == 200
            assert page.ask("other", "compile_grammar", **text)["ok"]
            assert page.ask("other", "check_texts", **text, texts=["12:0"])["results"]
            assert page.ask("other", "draw_machine", **text, tab="characters")["ok"]
        # seconds of the flood's work are left
        assert sum(not future.done() for future in flood) > 3
    answers = [future.result() for future in flood]
    refused = [answer for answer in answers if "busy" in answer]
    assert all("the server is busy" in answer["fault"] for answer in refused)
    assert 0 < len(refused) < FLOOD
    assert all(answer["ok"] for answer in answers if answer not in refused)


def test_work_of_visitors_who_left_is_not_done(page: Page) -> None:
    def leave(number: int) -> None:
        body = {**costly(500 + number), "tab": "characters"}
        url = f"{page.url}/wb/ask/draw_machine"
        with pytest.raises(httpx.TimeoutException):
            httpx.post(url, json=body, headers=address(f"gone {number}"), timeout=0.3)

    with ThreadPoolExecutor(FLOOD) as pool:
        list(pool.map(leave, range(FLOOD)))
    # one after another these would take as long as all the others together
    used = cpu_seconds(page)
    assert page.ask("other", "draw_machine", text="ab*c", notation="regex", tab="characters")["ok"]
    assert cpu_seconds(page) - used < FLOOD * 0.25


def heavy(number: int) -> dict[str, Any]:
    """A text that no other question has, which takes all the seconds that a text may take."""
    repeated = "".join(f"(?=.*{letter}.*{letter})" for letter in string.ascii_lowercase)
    return {"text": f"{repeated}.*{number}", "notation": "regex"}


def test_checks_are_answered_beside_holes_and_grammars_that_take_long(page: Page) -> None:
    """Each of 20 addresses sends a text that takes two seconds; one more visitor checks texts."""
    hole = {"prefix": "aaa", "suffix": "aaa"}
    nested = {"text": f"start ::= {'(' * 60}'a'{')*' * 60};", "notation": "kbnf", "hole": hole}
    url = f"{page.url}/wb/ask/compile_grammar"

    def exhaust(number: int) -> None:
        sent = nested if number % 5 == 0 else heavy(100 + number)
        headers = address(f"exhausts {number}")
        with suppress(httpx.TimeoutException):  # leaves before all have been answered
            httpx.post(url, json=sent, headers=headers, timeout=12)

    with ThreadPoolExecutor(20) as pool:
        costly = [pool.submit(exhaust, number) for number in range(20)]
        time.sleep(1)
        for number in range(20):
            text = {"text": f"[0-9]{{2}}-{number}", "notation": "regex"}
            assert page.ask("other", "check_texts", **text, texts=["12-0"])["results"]
        assert sum(not future.done() for future in costly) > 8


#: The last arguments of ``compare``: messages before the prompt, and four settings of sampling.
NO_MORE = [None] * 5
STREAMED = ["compile", "draw", "mask", "samples", "generate", "compare"]


@pytest.mark.parametrize("name", STREAMED)
def test_work_of_a_closed_stream_ends(page: Page, name: str) -> None:
    text = heavy(STREAMED.index(name))["text"]
    given = {
        "compile": [text, "regex", "start", ""],
        "draw": [text, "regex", "characters", "start", "", ""],
        "mask": [text, "regex", "", "start", "", ""],
        "samples": [text, "regex", 5, 0, "start", ""],
        "generate": generate_settings(text, 10),
        "compare": [text, "automaton", "regex", "Hello", 1, 8, 0.7, 1, "start", "", "", *NO_MORE],
    }[name]
    while seconds_used(page, 0.5) > 0.15:  # work of other tests
        pass
    begun = page.call(f"gone {name}", name, *given)
    assert begun.status_code == 200, begun.text
    before = cpu_seconds(page)
    with (
        pytest.raises(httpx.ReadTimeout),
        httpx.stream(
            "GET", f"{page.url}/gradio_api/call/{name}/{begun.json()['event_id']}", timeout=0.5
        ) as answer,
    ):
        for _ in answer.iter_raw():
            pass
    assert cpu_seconds(page) - before > 0.1, "the work had not begun"
    time.sleep(1)
    assert seconds_used(page, 1) < 0.3


@pytest.mark.parametrize("name", ["run", "compare"])
def test_work_of_a_closed_run_of_the_page_ends(page: Page, name: str) -> None:
    sent = {**heavy(300 + len(name)), "methods": ["automaton"], "max_tokens": 8}
    while seconds_used(page, 0.5) > 0.15:  # work of other tests
        pass
    before = cpu_seconds(page)
    url, headers = f"{page.url}/wb/{name}", address(f"gone {name}")
    with (
        pytest.raises(httpx.ReadTimeout),
        httpx.stream("POST", url, json=sent, headers=headers, timeout=0.5) as answer,
    ):
        for _ in answer.iter_raw():
            pass
    assert cpu_seconds(page) - before > 0.1, "the work had not begun"
    time.sleep(0.5)
    assert seconds_used(page, 1) < 0.3


def cpu_seconds(page: Page) -> float:
    """The processor time that the server has used."""
    fields = Path(f"/proc/{page.process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def seconds_used(page: Page, seconds: float) -> float:
    """The processor seconds that the server uses in the next ``seconds``."""
    used = cpu_seconds(page)
    time.sleep(seconds)
    return cpu_seconds(page) - used


def test_unread_comparisons_do_not_hold_the_model(page: Page) -> None:
    prompts = [f"Hello {number}" for number in range(4)]
    for number in range(4):
        begun = page.call("hog", "compare", "[a-z ]{200}", "automaton,online", "regex", prompts, 8, 128, 0.7, 1 + number, "start", "", "", *NO_MORE)  # fmt: skip
        assert begun.status_code == 200, begun.text
    event = page.call("other", "generate", *generate_settings("[a-z ]{5}", 10)).json()["event_id"]
    assert "stop" in page.events("generate", event)
    status = page.http.get("/gradio_api/queue/status").json()
    assert status["queue_size"] >= 1, "the comparisons were over before the run"


def test_one_address_cannot_fill_the_queue_of_runs(page: Page) -> None:
    settings = generate_settings("[a-z ]{900}", 1_000)
    begun = [page.call("greedy", "generate", *settings) for _ in range(20)]
    refused = [answer for answer in begun if answer.status_code != 200]
    assert refused
    assert {answer.status_code for answer in refused} == {503}
    assert "busy" in refused[0].json()["detail"]
    event = page.call("other", "generate", *generate_settings("[a-z ]{5}", 10)).json()["event_id"]
    assert "stop" in page.events("generate", event)


@pytest.mark.exhaustive
def test_memory_after_a_storm_of_large_grammars(page: Page) -> None:
    def ask_all(number: int, grammar: dict[str, str]) -> None:
        for name, more in (
            ("compile_grammar", {}),
            ("draw_machine", {"tab": "tokens"}),
            ("draw_machine", {"tab": "stack"}),
            ("lint_grammar", {}),
        ):
            page.ask(f"visitor {number}", name, **grammar, **more)

    before = page.megabytes()
    for number in range(64):
        rules = "".join(
            f"r{k} ::= 'a{k}' r{(7 * k + number) % 150} 'b' | 'c' r{(3 * k + 1) % 150} | #'[a-z]*';\n"
            for k in range(150)
        )
        letters = r"(\p{L}|\p{N}|\P{Lu}|[^\p{L}\p{M}])*" + f"x{number}"
        if number % 2:
            ask_all(number, {"text": f"start ::= r0;\n{rules}", "notation": "kbnf"})
        else:
            ask_all(number, {"text": letters, "notation": "regex"})
    for number in range(70):
        page.ask("light", "compile_grammar", text=f"light{number}a*", notation="regex")
    # large texts are dropped after a while without a request
    ends = time.monotonic() + 120
    while page.megabytes() >= 1.2 * before and time.monotonic() < ends:
        time.sleep(1)
    assert page.megabytes() < 1.2 * before


def test_a_body_that_is_no_question_is_no_fault_of_the_server(page: Page) -> None:
    for content in (b"[]", b"3", b"nonsense", b"\xff", b"", b"[" * 100_000):
        for path in ("ask/compile_grammar", "run", "compare"):
            answered = page.http.post(
                f"/wb/{path}", content=content, headers={"content-type": "application/json"}
            )
            assert 400 <= answered.status_code < 500, (content, answered.status_code)


def test_many_people_at_once(page: Page) -> None:
    """Fifty visitors begin together; each gets every answer."""
    begin = threading.Barrier(50)

    def visit(number: int) -> str:
        visitor, text = f"person {number}", {"text": f"[a-z]{{3}}{number}", "notation": "regex"}
        begin.wait()
        assert page.ask(visitor, "compile_grammar", **text)["ok"]
        assert page.ask(visitor, "draw_machine", **text, tab="characters")["ok"]
        return str(page.run(visitor, **text, max_tokens=20)[-1]["k"])

    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(visit, range(50))) == {"stop"}
