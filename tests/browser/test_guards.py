"""The page under its headers in a browser: nothing that it uses is blocked, and the rest is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import PATIENCE, Visitor
from tests.browser.server import TOKEN
from tests.browser.test_takeaway import file_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

#: Collects what the content security policy refuses.
WATCH = """
window.refused = [];
document.addEventListener("securitypolicyviolation", (event) =>
  refused.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


def test_a_whole_session_breaks_no_policy(visit: Visitor, tmp_path: Path) -> None:
    with visit("?example=time", before=WATCH) as v:
        v.wait_run()
        v.wait_drawn()
        v.type_grammar("[0-9]{2}:[0-9]{2}")
        for tab in ("tokens", "characters", "together"):
            v.open_tab(tab)
        v.wait_drawn()
        v.run()
        for kind in ("SVG", "PNG", "DOT", "CSV", "NDJSON", "Grammar file"):
            assert file_of(v, kind, tmp_path).stat().st_size > 0
        v.page.click("#wb-header [data-view=compare]")
        v.page.click("#wb-compare .go:enabled")
        v.page.wait_for_selector("#wb-compare .halt:disabled", state="attached")
        v.page.click("#wb-header [data-view=learn]")
        v.page.wait_for_selector("#wb-learn svg .node")
        assert v.page.evaluate("refused") == []


def test_the_token_leaves_the_address(visit: Visitor) -> None:
    with visit(f"?token={TOKEN}&tab=stack#x") as v:
        assert v.page.evaluate("location.search + location.hash") == "?tab=stack#x"
        assert TOKEN not in v.page.content()
        v.wait_run()  # a page that is left in the middle of a run complains of it
        v.page.click("#wb-header button.model")
        v.page.wait_for_selector("#wb-header .openmodel input")
        v.page.reload()
        v.page.wait_for_function("window.wb?.ready")
        v.page.click("#wb-header button.model")
        v.page.wait_for_selector("#wb-header .openmodel input")
        assert v.page.locator("#wb-header .models .closed").is_hidden()


@contextmanager
def other_site(content: str) -> Iterator[str]:
    """The address of another site on this machine, which has one page."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # called by this name
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://evil.localhost:{server.server_port}/"
        server.shutdown()


@contextmanager
def tab(browser: Browser) -> Iterator[Page]:
    """A tab in which errors are expected."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    context.close()


def test_an_injected_script_does_not_run(browser: Browser, address: str) -> None:
    with tab(browser) as page:
        page.goto(address)
        page.wait_for_function("window.wb?.ready")
        page.evaluate(WATCH)
        page.evaluate(
            """() => {
              document.body.insertAdjacentHTML("beforeend", `
                <img src="data:," onerror="window.ran = 1"><svg onload="window.ran = 2"></svg>
                <iframe srcdoc="<script>parent.ran = 3</script>"></iframe>
                <a href="javascript:window.ran = 4" class="injected">x</a>`);
              const script = document.createElement("script");
              script.textContent = "window.ran = 5";
              document.body.append(script);
              document.querySelector(".injected").click();
            }"""
        )
        page.wait_for_function("refused.length >= 4")
        assert page.evaluate("window.ran") is None
        page.evaluate("fetch('https://elsewhere.example/').catch(() => {})")
        page.evaluate("new Image().src = 'https://elsewhere.example/x.png'")
        page.wait_for_function("refused.filter((one) => one.includes('elsewhere')).length >= 2")


def test_a_page_of_another_site_sends_nothing(browser: Browser, address: str) -> None:
    asked = f"{address}wb/ask/open_model"
    body = '{"name": "/etc", "token": "x"}'
    content = f"""<body><form method=post enctype=text/plain target=frame action={asked}>
      <input name='{body[:-1]}, "x": "' value='"}}'></form><iframe name=frame></iframe><script>
      const send = (type, mode) => fetch("{asked}", {{ method: "POST", mode, body: '{body}',
        headers: {{ "Content-Type": type }} }}).then((got) => got.type, () => "not sent");
      window.said = [];
      (async () => {{
        said.push(await send("text/plain", "no-cors"));
        said.push(await send("application/json", "cors"));
        document.forms[0].submit();
      }})();</script>"""
    answers: list[Any] = []
    with other_site(content) as site, tab(browser) as page:
        page.on("response", lambda one: answers.append(one) if one.url == asked else None)
        with page.expect_response(
            lambda one: one.url == asked and one.request.is_navigation_request()
        ):
            page.goto(site)
        assert page.evaluate("said") == ["opaque", "not sent"]
        posted = [one.status for one in answers if one.request.method == "POST"]
        assert posted == [403, 403]


def test_no_other_site_shows_the_page_in_a_frame(browser: Browser, address: str) -> None:
    said: list[str] = []
    with other_site(f"<iframe src={address}></iframe>") as site, tab(browser) as page:
        page.on("console", lambda one: said.append(one.text))
        page.goto(site)
        page.wait_for_function("frames.length === 1")
        for _ in range(100):
            if said:
                break
            page.wait_for_timeout(50)
        assert any("frame-ancestors 'none'" in one for one in said)
        assert page.frames[1].evaluate("document.querySelector('#wb-main')") is None
