"""sanitised(): only shapes, text, classes and names are kept."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from workbench.drawing.render import sanitised

HEAD = (
    '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://x/svg11.dtd">'
    '<svg width="9pt" height="9pt" viewBox="0 0 9 9" xmlns="http://www.w3.org/2000/svg" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" onload="evil()">'
)


def clean(inside: str) -> str:
    return sanitised(f"{HEAD}{inside}</svg>".encode(), "a machine")


#   in the picture                                            because
EVIL = [
    ("<script>evil()</script>",                               "a script"),
    ('<g class="node" onclick="evil()"><path d="M0,0"/></g>', "a handler"),
    ('<a xlink:href="javascript:evil()"><path d="M0,0"/></a>', "a link"),
    ('<a href="http://evil"><text>x</text></a>',              "a link of the new kind"),
    ("<foreignObject><b>evil</b></foreignObject>",            "foreign content"),
    ('<image href="http://evil/x.png"/>',                     "an image"),
    ('<use href="#evil"/>',                                   "a reference"),
    ("<style>*{background:url(http://evil)}</style>",         "a style sheet"),
    ('<path style="fill:url(http://evil)" d="M0,0"/>',        "a style"),
    ('<path fill="url(http://evil)" d="M0,0"/>',              "a paint server"),
    ('<animate attributeName="href" to="evil"/>',             "an animation"),
    ("<!-- evil --><?evil?>",                                 "comments, instructions"),
    ('<text xml:base="http://evil">x</text>',                 "a base"),
]  # fmt: skip


@pytest.mark.parametrize(("inside", "because"), EVIL, ids=[row[1] for row in EVIL])
def test_active_content_is_removed(inside: str, because: str) -> None:
    picture = clean(inside)
    assert "evil" not in picture, because
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", ""), because


def test_text_is_text() -> None:
    picture = clean("<text>&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;</text>")
    assert "<script" not in picture
    assert next(ElementTree.fromstring(picture).iterfind(".//{*}text")).text == (
        "<script>alert(1)</script> &lt;"
    )


def test_prolog_goes_and_the_frame_is_named() -> None:
    root = ElementTree.fromstring(clean(""))
    assert clean("").startswith("<svg")
    assert root.get("role") == "group"
    assert root.get("aria-label") == "a machine"
    assert root.get("viewBox") == "0 0 9 9"
    assert root.get("onload") is None


def test_description_is_for_screen_readers() -> None:
    picture = sanitised(f"{HEAD}</svg>".encode(), "m", "2 states & <b>")
    assert ElementTree.fromstring(picture).findtext("{*}desc") == "2 states & <b>"


def test_black_follows_the_page_and_other_colours_go() -> None:
    picture = clean('<path fill="none" stroke="black" d="M0,0"/><path fill="red" d="M1,1"/>')
    first, second = ElementTree.fromstring(picture).iterfind(".//{*}path")
    assert (first.get("fill"), first.get("stroke")) == ("none", "currentColor")
    assert second.get("fill") == "none"


def test_a_hover_text_becomes_a_title() -> None:
    inside = (
        '<g id="state-1" class="node state"><title>1</title><g id="a_state-1">'
        '<a xlink:title="state 1, final"><ellipse cx="1" cy="2" rx="3" ry="4"/></a></g></g>'
    )
    group = next(ElementTree.fromstring(clean(inside)).iterfind(".//{*}g"))
    assert (group.get("id"), group.get("class")) == ("state-1", "node state")
    assert group.findtext("{*}title") == "state 1, final"
    assert group.find("{*}ellipse") is not None


def test_an_edge_names_its_ends() -> None:
    inside = '<g id="edge-3" class="edge arc"><title>7-&gt;call-1-2</title></g>'
    group = next(ElementTree.fromstring(clean(inside)).iterfind(".//{*}g"))
    assert (group.get("data-source"), group.get("data-target")) == ("7", "call-1-2")


@pytest.mark.parametrize("picture", [b"", b"<html></html>", b"<!ENTITY x 'y'><svg/>"])
def test_error_when_it_is_no_picture(picture: bytes) -> None:
    with pytest.raises(ValueError, match="expected an SVG document"):
        sanitised(picture, "m")
