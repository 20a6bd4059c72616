"""What strangers send to a page: refused with 4xx and a sentence, and logged without any text."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from workbench.app.ui import guards
from workbench.app.ui.guards import MAX_BODY, RequestGuard, host_names
from workbench.app.ui.questions import QUESTIONS, STREAMS
from workbench.app.ui.serve import ServeSettings, serve
from workbench.base.errors import WorkbenchError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

GRAMMAR = {"text": "[0-9]{2}", "notation": "regex", "start": "start", "options": {}, "model": ""}

ASK = "/wb/ask/compile_grammar"


@dataclass
class Served:
    """A page that ``workbench serve`` serves, as a program sees it."""

    process: subprocess.Popen[str]
    client: httpx.Client
    token: str
    #: What it writes to stderr.
    log: Path
    #: Where Gradio stores files.
    files: Path

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"content-type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return self.client.post(path, content=content, headers=sent)

    def ask(self, question: str, sent: object, **headers: str) -> httpx.Response:
        """A question of the page's scripts."""
        return self.post(f"/wb/ask/{question}", sent, **headers)

    def call(self, endpoint: str, data: list[Any]) -> str:
        """The events of an endpoint, as text."""
        answer = self.post(f"/gradio_api/call/{endpoint}", {"data": data})
        assert answer.status_code == 200, answer.text
        return self.client.get(f"/gradio_api/call/{endpoint}/{answer.json()['event_id']}").text

    def lines(self, wanted: str) -> list[str]:
        """The lines of the log with a text, once there is one: it follows the answer."""
        for _ in range(100):
            found = [line for line in self.log.read_text().splitlines() if wanted in line]
            if found:
                return found
            time.sleep(0.05)
        return []


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[Served]:
    """A page in a separate process, with a small model."""
    command = [sys.executable, "-m", "workbench", "serve", "--no-open", "--port", "0"]
    files = folder / "gradio"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--model", "toy", "--log-level", "info", *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=ROOT,
            env={**os.environ, "GRADIO_TEMP_DIR": str(files)},
        )
    with process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            found = re.search(r"(http://[\w.]+:\d+)/(?:\?token=(\S+))? ", said)
            assert found, said
            with httpx.Client(base_url=found[1], timeout=60) as client:
                yield Served(process, client, found[2] or "", folder / "log", files)
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page with all options."""
    options = ("--open-models", "--metrics", "--allow-host", "demo.example")
    frames = ("--embed", "https://one.example", "--embed", "https://two.example")
    with served(tmp_path_factory.mktemp("owned"), *options, *frames) as page:
        yield page


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page without any option."""
    with served(tmp_path_factory.mktemp("plain")) as page:
        yield page


# -- what is closed --------------------------------------------------------------------------------


def test_nothing_can_be_uploaded(plain: Served) -> None:
    for path in ("/gradio_api/upload", "/gradio_api/upload/", "/gradio_api/upload?upload_id=x"):
        assert plain.client.post(path, files={"files": b"x" * 900_000}).status_code == 404
    multipart = plain.client.post(ASK, data={"text": "a"}, files={"files": b"x" * 900_000})
    assert multipart.status_code == 415
    assert [path for path in plain.files.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/deep_link?session_hash=visitor",  # would store a file for each session
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/proxy=https://example.org",
        "/gradio_api/stream/a/b/3/playlist.m3u8",
        "/gradio_api/upload_progress?upload_id=x",
        "/gradio_api/custom_component/1/client/component/x",
        "/gradio_api/runs",
        "/monitoring",
        "/login",
        "/theme.css",
        "/manifest.json",
        "/static/img/logo.svg",
        "/docs",
        "/openapi.json",
        "/metrics",
        "/gradio_api/mcp/",
        "/../etc/passwd",
    ],
)
def test_what_the_page_does_not_use_is_closed(plain: Served, path: str) -> None:
    assert plain.client.get(path).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/run/check",  # would bypass the queue
        "/gradio_api/api/check",
        "/gradio_api/process_recording",
        "/gradio_api/vibe-edit",
        "/gradio_api/stream/x",
        "/gradio_api/component_server",
        "/wb/ask/nothing",
        "/wb/nothing",
        "/login",
        "/gradio_api/mcp/",
        "/",
    ],
)
def test_what_the_page_does_not_use_takes_no_body(plain: Served, path: str) -> None:
    answer = plain.post(path, {"data": ["a", "regex", "a", "start", ""]})
    assert answer.status_code == 404
    assert plain.client.put(path, content=b"{}").status_code == 404


# -- who may ask -----------------------------------------------------------------------------------


def test_a_foreign_host_is_refused(plain: Served, owned: Served) -> None:
    # DNS rebinding: a name of the attacker that resolves to this machine
    for host in ("evil.example", "evil.example:7860", "127.0.0.1.evil.example", "", "[::2]"):
        assert plain.client.get("/", headers={"Host": host}).status_code == 400
        asked = plain.ask("compile_grammar", GRAMMAR, Host=host)
        assert asked.status_code == 400
        assert "access-control-allow-origin" not in asked.headers
    for host in ("127.0.0.1", "localhost:7860", "[::1]:7860"):
        assert plain.client.get("/config", headers={"Host": host}).status_code == 200
    assert plain.client.get("/config", headers={"Host": "demo.example"}).status_code == 400
    assert owned.client.get("/config", headers={"Host": "demo.example"}).status_code == 200


def test_what_a_page_of_another_site_sends_is_refused(plain: Served, owned: Served) -> None:
    own = str(plain.client.base_url).rstrip("/")
    foreign = (
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        f"{own}.evil.example",
        "https://demo.example",
    )
    for origin in foreign:
        assert plain.ask("compile_grammar", GRAMMAR, Origin=origin).status_code == 403
        data = {"data": ["a", "regex", "a", "start", ""]}
        assert plain.post("/gradio_api/call/check", data, Origin=origin).status_code == 403
    assert plain.ask("compile_grammar", GRAMMAR, Origin=own).json()["ok"]
    # a proxy may leave the host as it is, or not
    for host in ("demo.example", "127.0.0.1:7860"):
        named = {"Origin": "https://demo.example", "Host": host}
        assert owned.ask("compile_grammar", GRAMMAR, **named).json()["ok"]
    named = {"Origin": "https://evil.example", "Host": "demo.example"}
    assert owned.ask("compile_grammar", GRAMMAR, **named).status_code == 403


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "text/plain; application/json", ""],
)
def test_a_body_that_a_foreign_page_can_send_unasked_is_refused(plain: Served, kind: str) -> None:
    # a browser asks before it sends JSON to another site; forms and plain texts it sends
    for path in (ASK, "/gradio_api/queue/join", "/gradio_api/call/check", "/gradio_api/cancel"):
        assert plain.post(path, {"data": []}, content_type=kind).status_code == 415


def test_nobody_opens_models_without_the_option(plain: Served, tmp_path: Path) -> None:
    for token in ("", "None", "token"):
        sent = {"name": str(tmp_path), "token": token}
        assert "does not open other models" in plain.ask("open_model", sent).json()["fault"]
    named = plain.ask("model_state", {"model": str(tmp_path)}).json()
    assert "does not offer the model" in named["fault"]
    for forwarded in ({"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}):
        sent = {"name": str(tmp_path), "token": ""}
        assert "fault" in plain.ask("open_model", sent, **forwarded).json()
    state = plain.ask("model_state", {}).json()
    assert [one["name"] for one in state["models"]] == ["toy"]
    assert state["may_open"] is False


def test_only_who_has_the_token_opens_a_model(owned: Served, tmp_path: Path) -> None:
    assert len(owned.token) >= 32
    for token in ("", "None", owned.token[:-1], owned.token + "x", owned.token.swapcase()):
        sent = {"name": str(tmp_path), "token": token}
        assert "only the owner" in owned.ask("open_model", sent).json()["fault"]
    sent = {"name": str(tmp_path), "token": owned.token}
    opened = owned.ask("open_model", sent).json()
    assert opened == {"name": tmp_path.name}
    for _ in range(200):
        state = owned.ask("model_state", {"model": tmp_path.name}).json()
        if state["state"] != "loading":
            break
        time.sleep(0.05)
    assert state["state"] == "failed"
    assert "config.json" in state["title"]
    shown = owned.ask("model_state", {}).json()
    assert str(tmp_path.parent) not in json.dumps([one["name"] for one in shown["models"]])
    assert owned.token not in owned.log.read_text()


def test_hosts_are_checked_where_they_are_known() -> None:
    assert host_names(local=True, allowed=()) == ("127.0.0.1", "localhost", "[::1]")
    assert host_names(local=True, allowed=("a.example",))[3:] == ("a.example",)  # type: ignore[index]
    assert host_names(local=False, allowed=("*.example",)) == ("*.example",)
    assert host_names(local=False, allowed=()) is None


@pytest.mark.parametrize("name", ["https://a.example", "a.example:80", "a*b", "*", "", "a b"])
def test_error_what_is_no_host(name: str) -> None:
    with pytest.raises(WorkbenchError, match="expected the name of a host"):
        host_names(local=False, allowed=(name,))


@pytest.mark.parametrize("site", ["a.example", "*", "https://a.example/x", "https://a; x", ""])
def test_error_what_is_no_site(site: str) -> None:
    page: Any = None
    with pytest.raises(WorkbenchError, match="expected the address of a site"):
        guards.guards(page, set(), hosts=None, embed=[site])


def test_error_an_unknown_log_level() -> None:
    with pytest.raises(WorkbenchError, match="expected one of debug, info"):
        serve(ServeSettings(log_level="loud"))


# -- what may be sent ------------------------------------------------------------------------------


def test_a_body_has_at_most_2_mb(plain: Served) -> None:
    def pieces(count: int) -> Iterator[bytes]:
        for _ in range(count):
            yield b" " * 100_000

    json_body = {"content-type": "application/json"}
    for path in (ASK, "/gradio_api/call/check", "/gradio_api/queue/join"):
        whole = plain.client.post(path, content=b" " * (MAX_BODY + 1), headers=json_body)
        assert whole.status_code == 413
        streamed = plain.client.post(path, content=pieces(25), headers=json_body)
        assert "content-length" not in streamed.request.headers
        assert streamed.status_code == 413
    request = {**GRAMMAR, "text": "a", "filler": " " * (MAX_BODY - 1000)}
    assert plain.ask("compile_grammar", request).json()["ok"]


def test_a_body_is_not_awaited_to_its_end_to_be_refused(plain: Served) -> None:
    url = plain.client.base_url
    connection = http.client.HTTPConnection(url.host, url.port, timeout=20)
    connection.putrequest("POST", ASK)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "999999999")
    connection.endheaders(b"{")
    assert connection.getresponse().status == 413
    connection.close()


def test_a_body_that_does_not_arrive_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "BODY_SECONDS", 0.05)
    answered: list[Any] = []

    async def asked() -> None:
        async def receive() -> Any:
            await anyio.sleep(0.01)
            return {"type": "http.request", "body": b" ", "more_body": True}

        async def send(message: Any) -> None:
            answered.append(message)

        async def never(*_: object) -> None:
            pytest.fail("the request was passed on")

        server: Any = None
        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": ASK, "headers": headers}
        await RequestGuard(never, server, None, tools=False)(scope, receive, send)

    anyio.run(asked)
    assert answered[0]["status"] == 408
    assert b"did not arrive" in answered[1]["body"]


#: Values of headers that are read as addresses, lists, ranges, numbers, dates or types.
HOSTILE = (
    b"http://[::1",  # half an IPv6 address
    b"http://[::ffff:1.2.3.4.5]",
    b"http://user@[::1",
    b"http://\xe2\x84\x80.example",  # a name that Unicode's normal form changes
    b"http://a:port",
    b"http://a:99999999",
    b"javascript:x",
    b"null",
    b"[::1",
    b"[::1]:port",
    b"[:::]",
    b"a b",
    b"Bearer \xff",
    b"\x01",
    b"\x7f",
    b"%5B::1",
    b",,,",
    b"1.2.3.4, [::1",
    b"-1",
    b"9" * 30,
    b"bytes=a-b",
    b"bytes=9-1",
    b"bytes=" + b"0-1," * 500,
    b"application/json; charset=\xff",
    b"multipart/form-data; boundary=",
    b"Sat, 99 Foo 9999 99:99:99 GMT",
    b'a=b; c="',
    b"x" * 9000,
    b"",
)

#: The headers that some part of the server reads.
READ_HEADERS = (
    "Host", "Origin", "Referer", "Content-Type", "Content-Length", "Range", "If-Range", "Cookie",
    "If-None-Match", "If-Modified-Since", "Accept-Encoding", "Accept-Language", "Authorization",
    "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Gradio-Server",
)  # fmt: skip

#: One address of each kind.
ADDRESSES = (
    "GET /config", "GET /favicon.ico", "GET /wb/page.js", "GET /robots.txt", "GET /healthz", "POST /wb/run",
    "GET /gradio_api/info", "GET /gradio_api/queue/data?session_hash=x", "GET /gradio_api/app_id",
    f"POST {ASK}", "POST /gradio_api/call/check", "POST /gradio_api/queue/join",
)  # fmt: skip


def status_of(page: Served, address: str, name: str, value: bytes) -> int:
    """The status of the answer to a request with one header that no client would send."""
    method, _, path = address.partition(" ")
    url = page.client.base_url
    body = b'{"data": ["a", "regex", "a", "start", ""]}' if method == "POST" else b""
    headers = {
        "Host": f"{url.host}:{url.port}".encode(),
        "Content-Type": b"application/json",
        "Content-Length": b"%d" % len(body),
        name: value,
    }
    lines = b"".join(key.encode() + b": " + sent + b"\r\n" for key, sent in headers.items())
    with socket.create_connection((url.host, url.port or 80), timeout=20) as connection:
        head = f"{method} {path} HTTP/1.0\r\n".encode()
        connection.sendall(head + lines + b"Connection: close\r\n\r\n" + body)
        return int(connection.makefile("rb").readline().split()[1])


def log_of_faults(page: Served) -> list[str]:
    return [line for line in page.log.read_text().splitlines() if "Traceback" in line]


@pytest.mark.parametrize("name", READ_HEADERS)
def test_no_header_fails_whatever_it_has(plain: Served, name: str) -> None:
    for number, value in enumerate(HOSTILE):
        for shift in (0, 7):
            address = ADDRESSES[(number + shift) % len(ADDRESSES)]
            assert status_of(plain, address, name, value) < 500, (address, value)
    assert not log_of_faults(plain)


@pytest.mark.parametrize("seed", range(3))
def test_no_header_fails_with_random_values(plain: Served, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        value = bytearray(chance.choice(HOSTILE)[:200] + chance.choice(HOSTILE)[:50])
        for _ in range(min(len(value), chance.randrange(4))):
            value[chance.randrange(len(value))] = chance.choice(b"[]:/@%?#,;= az09-\x80\xff")
        name, address = chance.choice(READ_HEADERS), chance.choice(ADDRESSES)
        assert status_of(plain, address, name, bytes(value)) < 500, (address, name, value)
    assert not log_of_faults(plain)


@pytest.mark.parametrize("origin", ["http://[::1", "http://[::ffff:1.2.3.4.5]", "http://a\u2100b"])
def test_an_origin_that_is_no_address_is_of_another_site(plain: Served, origin: str) -> None:
    sent = origin.encode()
    answer = plain.client.post(
        ASK, content=b"{}", headers={b"content-type": b"application/json", b"origin": sent}
    )
    assert answer.status_code == 403
    assert answer.json()["detail"] == "this request came from a page of another site"


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("X-Forwarded-Host", "demo.example", 200),
        ("X-Forwarded-Host", "demo.example:8443, inner.example", 200),
        ("X-Forwarded-Host", "[::1]:7860", 200),
        ("X-Forwarded-Host", "[:::]", 400),
        ("X-Forwarded-Host", "[::1]:port", 400),
        ("X-Forwarded-Host", "javascript:x", 400),
        ("X-Gradio-Server", "https://demo.example/--replicas/x1.y_z/", 200),
        ("X-Gradio-Server", "http://[::1", 400),
    ],
)
def test_the_address_that_a_proxy_reports_is_checked(
    plain: Served, name: str, value: str, status: int
) -> None:
    for path in ("/", "/config"):
        answer = plain.client.get(path, headers={name: value})
        assert answer.status_code == status
        if status == 400:
            assert (
                answer.json()["detail"] == f"the header {name.lower()} has no address of a server"
            )


#: What Gradio reads as a file, and would fetch.
FILE = {"path": "http://example.test/x", "meta": {"_type": "gradio.FileData"}}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (ASK, b"", 400),
        (ASK, b"[", 400),
        (ASK, b"[" * 100_000, 400),
        (ASK, b"\xff\xfe", 400),
        (ASK, b"[]", 400),
        (ASK, b"null", 400),
        (ASK, "text", 400),
        (ASK, 5, 400),
        (ASK, [GRAMMAR], 400),
        ("/wb/run", b"[", 400),
        ("/wb/compare", b"[]", 400),
        ("/wb/ask/__init__", {}, 404),
        ("/wb/ask/nothing", {}, 404),
        ("/gradio_api/call/nothing", {"data": []}, 404),
        ("/gradio_api/call/check", {"data": ["a"]}, 422),
        ("/gradio_api/call/check", {"data": "a"}, 422),
        ("/gradio_api/call/check", {"data": ["a"] * 99}, 422),
        ("/gradio_api/call/check", {}, 422),
        ("/gradio_api/call/v2/nothing", {}, 404),
        ("/gradio_api/call/v2/check", {"text": "a"}, 422),
        ("/gradio_api/call/v2/check", {"text": "a", "notation": "regex", "tried": "a", "x": 1}, 422),
        ("/gradio_api/call/check", {"data": [FILE, "regex", "a", "start"]}, 422),
        ("/gradio_api/call/check", {"data": ["a", [{"b": {**FILE, "meta": 5}}], "a", "start"]}, 422),
        ("/gradio_api/call/v2/check", {"text": FILE, "notation": "regex", "tried": "a"}, 422),
        ("/gradio_api/queue/join", {"data": [], "fn_index": 999, "session_hash": "x"}, 404),
        ("/gradio_api/queue/join", {"data": [], "fn_index": None, "session_hash": "x"}, 404),
        ("/gradio_api/queue/join", {"data": [1], "fn_index": 0, "session_hash": "x"}, 422),
        ("/gradio_api/queue/join", {"data": [], "fn_index": 0, "session_hash": "x" * 10_000}, 400),
        ("/gradio_api/cancel", {}, 400),
        ("/gradio_api/cancel", {"event_id": [], "fn_index": 0, "session_hash": "x"}, 400),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_with_a_sentence(
    plain: Served, path: str, body: Any, status: int
) -> None:
    answer = plain.post(path, body)
    assert answer.status_code == status
    said = answer.json()["detail"]
    assert isinstance(said, str)
    assert len(said) > 15
    assert "object at 0x" not in said


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/queue/data?session_hash=unknown",
        "/gradio_api/queue/data",
        "/gradio_api/call/check/unknown",
        "/gradio_api/call/v2/check/unknown",
    ],
)
def test_events_that_were_not_requested_are_refused(plain: Served, path: str) -> None:
    answer = plain.client.get(path)
    assert (answer.status_code, answer.json()) == (
        404,
        {"detail": "there is no call with these events"},
    )
    assert "Traceback" not in plain.log.read_text()


JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, "", "x", "a" * 300, "\ud800", "../../etc", [], [1], ["a"], [[]], {}, {"text": 5},
)  # fmt: skip

FIELDS = [
    "text",
    "notation",
    "start",
    "options",
    "texts",
    "model",
    "name",
    "token",
    "example",
    "to",
    "before",
    "prompt",
    "chat",
    "so_far",
    "tokens",
    "prefix",
    "query",
    "from",
    "run",
    "seed",
    "max_tokens",
    "temperature",
    "constraint",
    "lookahead",
    "small_tokens",
    "finish",
    "monitor",
    "draft",
    "reasoning",
    "tab",
    "centre",
    "state",
    "edge",
    "of",
    "lesson",
    "step",
    "answer",
    "given",
    "again",
    "narrow",
    "figure",
    "methods",
    "prompts",
    "seeds",
    "about",
    "steps",
    "end",
    "machine",
    "format",
    "index",
]


def test_no_question_fails_whatever_is_sent(plain: Served) -> None:
    drawn = random.Random(5)
    for question in QUESTIONS:
        for _ in range(8):
            data = dict(GRAMMAR) if drawn.random() < 0.7 else {}
            data |= {field: drawn.choice(JUNK) for field in drawn.sample(FIELDS, 4)}
            answer = plain.post(f"/wb/ask/{question}", data)
            assert answer.status_code == 200, (question, data)
    assert "Traceback" not in plain.log.read_text()


@pytest.mark.parametrize("name", STREAMS)
def test_no_run_fails_whatever_is_sent(plain: Served, name: str) -> None:
    drawn = random.Random(6)
    for _ in range(30):
        data = {**GRAMMAR, "max_tokens": 2, "seeds": 1, "methods": ["automaton"]}
        data |= {field: drawn.choice(JUNK) for field in drawn.sample(FIELDS, 3)}
        answer = plain.post(f"/wb/{name}", data)
        assert answer.status_code == 200, data
        last = json.loads(answer.text.splitlines()[-1])
        assert last["k"] in ("stop", "error"), data
        assert "internal error" not in last.get("message", ""), data
    assert "Traceback" not in plain.log.read_text()


@pytest.mark.parametrize(
    ("endpoint", "at", "wrong"),
    [
        ("compile", 1, 5),
        ("check", 2, {"a": 1}),
        ("explain", 2, {"a": 1}),
        ("explain", 3, 5),
        ("samples", 2, "many"),
        ("mask", 5, "/etc"),
        ("draw", 2, []),
    ],
)
def test_an_input_of_a_wrong_type_is_answered_with_a_sentence(
    plain: Served, endpoint: str, at: int, wrong: object
) -> None:
    parameters = plain.client.get("/gradio_api/info").json()["named_endpoints"][f"/{endpoint}"]
    given = {"text": "[0-9]{2}", "notation": "regex", "tried": "12"}
    names = [(one["parameter_name"], one["parameter_default"]) for one in parameters["parameters"]]
    data = [given.get(name, default) for name, default in names]
    data[at] = wrong
    events = plain.call(endpoint, data)
    assert "event: complete" in events
    assert "expected" in events or "does not offer" in events or "fault" not in events
    assert "Traceback" not in plain.log.read_text()


def test_a_grammar_is_converted_to_no_unknown_notation(plain: Served) -> None:
    for to in ("vllm", "outlines", "transformers", "nothing", ""):
        answer = plain.ask("convert_grammar", {**GRAMMAR, "to": to})
        assert answer.status_code == 200
        assert answer.json()["ok"] or len(answer.json()["why"]) > 10


# -- what is sent back -----------------------------------------------------------------------------


def directives(answer: httpx.Response) -> dict[str, list[str]]:
    """The content security policy of an answer."""
    policy = answer.headers["content-security-policy"]
    return {name: sources for name, *sources in map(str.split, policy.split(";"))}


def test_the_page_is_restricted_to_its_own_server(plain: Served, owned: Served) -> None:
    answer = plain.client.get("/")
    policy = directives(answer)
    assert policy["default-src"] == ["'none'"]
    assert policy["connect-src"] == ["'self'"]
    assert policy["frame-ancestors"] == policy["form-action"] == ["'none'"]
    assert policy["script-src"] == ["'self'", "'unsafe-eval'"], "drivers of browsers evaluate"
    assert answer.text.count("<script") == 2, "a file, and data that is no script"
    sources = {one for sources in policy.values() for one in sources if not one.startswith("'")}
    assert sources == {"data:", "blob:"}, "no other server"
    assert directives(owned.client.get("/"))["frame-ancestors"] == [
        "https://one.example",
        "https://two.example",
    ]


def test_where_others_can_reach_it_nothing_evaluates_text(tmp_path: Path) -> None:
    with served(tmp_path, "--host", "0.0.0.0") as page:
        assert directives(page.client.get("/"))["script-src"] == ["'self'"]


@pytest.mark.parametrize(
    "path", ["/", "/api", "/wb/page.js", "/wb/page.css", "/config", "/nothing", ASK]
)
def test_every_answer_names_its_type_and_hides_its_address(plain: Served, path: str) -> None:
    answer = plain.client.get(path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"


def test_health_is_answered_without_anything_else(plain: Served) -> None:
    answer = plain.client.get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok\n")
    assert plain.client.head("/healthz").status_code == 200


# -- what is logged --------------------------------------------------------------------------------


LINE = re.compile(
    r".* INFO workbench\.app\.ui\.request_log: request kind=([a-z_/]+)"
    r" outcome=(ok|fault|refused|failed|left) status=\d+ ms=\d+\.\d received=\d+ sent=\d+"
)


def test_a_line_for_each_request_and_never_a_text(owned: Served) -> None:
    secret = "moonlightsonata"
    owned.ask("compile_grammar", {**GRAMMAR, "text": secret, "prompt": secret})
    owned.ask("compile_grammar", {**GRAMMAR, "model": secret})
    owned.call("check", [secret, "regex", secret, "start", ""])
    owned.post(f"/gradio_api/call/{secret}", {"data": [secret]})
    owned.client.get(f"/{secret}?{secret}")
    owned.client.get(f"/gradio_api/heartbeat/{secret}/x")
    (refused, *_) = owned.lines("kind=call outcome=refused")
    assert "status=404" in refused
    (compiled, *_) = owned.lines("kind=compile_grammar outcome=ok")
    assert re.search(r"received=[1-9]\d+ sent=[1-9]\d+", compiled)
    assert owned.lines("kind=compile_grammar outcome=fault")
    assert owned.lines("kind=check outcome=ok")
    assert owned.lines("kind=events outcome=ok")
    text = owned.log.read_text()
    assert secret not in text
    requests = [line for line in text.splitlines() if "request_log" in line]
    assert all(LINE.fullmatch(line) for line in requests)


def test_metrics_count_what_the_log_says(owned: Served) -> None:
    pytest.importorskip("prometheus_client")

    def counted(text: str) -> float:
        series = 'workbench_request_seconds_count{kind="outline_rules",outcome="ok"} '
        return sum(float(line.split()[-1]) for line in text.splitlines() if series in line)

    before = counted(owned.client.get("/metrics").text)
    for _ in range(3):
        owned.ask("outline_rules", GRAMMAR)
    for _ in range(100):
        answer = owned.client.get("/metrics")
        if counted(answer.text) == before + 3:
            break
        time.sleep(0.05)
    assert counted(answer.text) == before + 3
    assert answer.headers["content-type"].startswith("text/plain")
    assert 'workbench_sent_bytes_total{kind="outline_rules"}' in answer.text
    assert "workbench_open_requests 1.0" in answer.text
    assert "process_resident_memory_bytes" in answer.text


# -- the end ---------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
def test_sigterm_ends_runs_with_a_reason(tmp_path: Path) -> None:
    with served(tmp_path) as page:
        names = page.client.get("/gradio_api/info").json()["named_endpoints"]["/generate"]
        given = {"text": "([a-z ]|[0-9])*", "max_tokens": 1024, "notation": "regex"}
        data = [
            given.get(one["parameter_name"], one["parameter_default"])
            for one in names["parameters"]
        ]
        event = page.post("/gradio_api/call/generate", {"data": data}).json()["event_id"]
        with page.client.stream("GET", f"/gradio_api/call/generate/{event}") as answer:
            text = ""
            for piece in answer.iter_text():
                text += piece
                if '\\"k\\": \\"step\\"' in piece and page.process.poll() is None:
                    page.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert page.process.wait(20) == 0
        assert time.monotonic() - began < 10
        assert "ended because the server was closed" in text
        assert "event: complete" in text
        assert "Traceback" not in page.log.read_text()


@pytest.mark.parametrize("port", ["abc", "-1", "70000", "1.5"])
def test_error_a_port_of_the_environment_that_is_none(
    port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_SERVER_PORT", port)
    with pytest.raises(SystemExit) as ended:  # which prints it, and exits with 1
        runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
    assert ended.value.code == f"error: expected a port as GRADIO_SERVER_PORT, not {port!r}"
