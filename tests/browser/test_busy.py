"""What the page does when the server is too busy to take a question or a run."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.browser

BUSY = {"fault": "the server is busy: 7 questions wait — try again in a few seconds", "busy": 7}


def test_a_question_is_asked_again(visit: Any) -> None:
    refused: list[str] = []

    def answer(route: Any) -> None:
        if len(refused) < 2:
            refused.append(route.request.post_data)
            route.fulfill(status=200, content_type="application/json", body=json.dumps(BUSY))
        else:
            route.continue_()

    with visit("?example=json") as v:
        v.wait_drawn()
        v.page.route("**/wb/ask/draw_machine", answer)
        v.type_grammar('start ::= "a" | "b" start;')
        v.page.wait_for_selector(".notice.on:has-text('7 questions wait')")
        v.shot("busy")
        v.wait_drawn()
        assert len(refused) == 2


def test_a_run_that_is_not_taken_ends_with_a_sentence(visit: Any) -> None:
    def refuse(route: Any) -> None:
        body = json.dumps({"detail": "Queue is full."})
        route.fulfill(status=503, content_type="application/json", body=body)

    with visit("?example=json") as v:
        v.wait_drawn()
        v.page.route("**/wb/run", refuse)
        v.page.click("#wb-run .go")
        v.page.wait_for_selector("#wb-run :text('the server did not begin it')")
        v.shot("refused")
        v.page.unroute("**/wb/run")
        v.run()
        # the browser reports the refused request itself
        v.complaints[:] = [each for each in v.complaints if "503" not in each]
