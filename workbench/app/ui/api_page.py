"""The documentation of the endpoints as one HTML page, from their signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from inspect import Parameter, getdoc, signature
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gradio.utils import get_function_description

from workbench.app.ui.api import QUICK, STREAMED, Endpoints
from workbench.app.ui.page_files import head

_DOCUMENT = """\
<!doctype html>
<html lang="en">
<head>
{head}
<title>API · Grammar workbench</title>
</head>
<body>
<main class="wb apidoc">
<p><a href="./">Grammar workbench</a></p>
<h1>API</h1>
<p>Programs call these endpoints with Gradio's client, with plain HTTP, or as tools of an assistant
(<code>workbench serve --mcp</code>, at <code>gradio_api/mcp/</code>).</p>
<pre>from gradio_client import Client

client = Client("{address}")
print(client.predict("[0-9]{{2}}", "regex", ["12", "1x"], api_name="/check"))</pre>
<pre>curl {address}gradio_api/call/check -H 'Content-Type: application/json' \\
  -d '{{"data": ["[0-9]{{2}}", "regex", ["12", "1x"], "start", null]}}'
# answers {{"event_id": "ID"}}; the events of the call are at
curl -N {address}gradio_api/call/check/ID</pre>
<nav>{names}</nav>
{endpoints}
</main>
</body>
</html>
"""


def api_document(address: str) -> str:
    """The page of all endpoints, with examples for the server at an address."""
    names = (*QUICK, *STREAMED)
    return _DOCUMENT.format(
        head=head(),
        address=escape(address),
        names=" ".join(f'<a href="api#{name}">{name}</a>' for name in names),
        endpoints="".join(map(_section, names)),
    )


def _section(name: str) -> str:
    endpoint = getattr(Endpoints, name)
    _, meanings, answers = get_function_description(endpoint)
    about = (getdoc(endpoint) or "").partition("\n")[0]
    rows = "".join(
        f"<tr><th><code>{parameter.name}</code><td>{kind}<td>{escape(meanings[parameter.name])}"
        for parameter, kind in _parameters(name)
    )
    answer = escape(" ".join(answers))
    stream = " It answers with a stream of events." if name in STREAMED else ""
    return (
        f'<section id="{name}"><h2>/{name}</h2><p>{escape(about)}{stream}</p>'
        f"<table><tr><th>input<th>type<th>meaning{rows}</table><p>Returns {answer}</p></section>"
    )


def _parameters(name: str) -> Iterator[tuple[Parameter, str]]:
    """The parameters of an endpoint, each with its type and default in words."""
    endpoint = getattr(Endpoints, name)
    types = get_type_hints(endpoint)
    for parameter in [*signature(endpoint).parameters.values()][1:]:
        default = "" if parameter.default is Parameter.empty else f" = {parameter.default!r}"
        words = escape(_type_words(types[parameter.name]))
        yield parameter, f"{words}<code>{escape(default)}</code>"


def _type_words(kind: Any) -> str:  # noqa: ANN401  # types as values
    """The name of a type; of a choice the values."""
    if get_origin(kind) is Literal:
        return ", ".join(map(str, get_args(kind)))
    return str(kind) if get_args(kind) else str(kind.__name__)
