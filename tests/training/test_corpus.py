from __future__ import annotations

import ast
import json
import re
import unicodedata
from datetime import date
from itertools import islice
from random import Random
from uuid import UUID
from xml.etree import ElementTree

import pytest

from lab.training.corpus import document as people
from lab.training.corpus import sums
from lab.training.corpus.choices import QUESTIONS
from lab.training.corpus.document import Document, Orderly, stream
from lab.training.corpus.mixture import FORMATS, held_out, mixture
from tests.training.c_subset import in_subset

BY_NAME = {form.name: form for form in FORMATS}


def some(name: str, count: int = 60) -> list[Document]:
    return list(islice(stream(BY_NAME[name], "test"), count))


def unfenced(text: str) -> str:
    return text.removesuffix("\n```")


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_documents_are_the_same_for_a_seed_and_never_empty(name: str) -> None:
    first, again = some(name, 20), some(name, 20)
    assert first == again
    assert all(d.prompt and d.text and d.format == name for d in first)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_another_seed_gives_other_documents(name: str) -> None:
    other = list(islice(stream(BY_NAME[name], "another"), 20))
    assert other != some(name, 20)


def test_names_of_formats_are_unique_and_each_has_prompts() -> None:
    assert len(BY_NAME) == len(FORMATS)
    assert all(form.prompts and form.share > 0 for form in FORMATS)


@pytest.mark.parametrize(
    "name", ["json person", "json object", "json array", "json game character", "gsm8k json"]
)
def test_json_parses(name: str) -> None:
    for document in some(name):
        json.loads(document.text)


def test_json_person_birth_and_age_agree_and_the_prompt_names_them() -> None:
    for document in some("json person", 300):
        value = json.loads(document.text)
        if isinstance(value, dict) and "born" in value:
            assert value["age"] == people.THIS_YEAR - date.fromisoformat(value["born"]).year
        named = re.search(r"of a person (\w+ \w+)", document.prompt)
        if named and "name" in value:
            assert value["name"] == named[1]


def test_json_game_character_follows_the_schema() -> None:
    for document in some("json game character"):
        value = json.loads(document.text)
        assert list(value) == ["name", "class", "life", "mana", "equipment"]
        assert value["class"] in ("Warrior", "Rogue", "Sorceror")
        for thing in value["equipment"]:
            assert list(thing) == ["name", "durability", "quality"]
            assert thing["quality"] in ("Normal", "Magic", "Unique")


def test_rpg_characters_have_the_listings_shape() -> None:
    keys = ["id", "description", "name", "age", "armor", "weapon", "class"]
    keys += ["mantra", "strength", "items"]
    for document in some("rpg character"):
        value = json.loads(unfenced(document.text))
        assert list(value) == keys
        assert value["armor"] in ("leather", "chainmail", "plate")
        assert value["weapon"] in ("sword", "axe", "bow")
        assert len(set(value["items"])) == 3
        reported = re.search(r"with (\d+) strength", document.prompt)
        assert reported is None or int(reported[1]) == value["strength"]


def test_xml_persons_have_the_listings_shape() -> None:
    job = r"<job>\s*<title>[^<]+</title>\s*<salary>\d+</salary>\s*</job>\s*"
    person = rf"<person>\s*<name>[^<]+</name>\s*<age>\d+</age>\s*{job}"
    friends = rf"(<friends>\s*({person}</person>)+\s*</friends>\s*)?"
    for document in some("xml person"):
        ElementTree.fromstring(document.text)
        assert re.fullmatch(rf"{person}{friends}</person>", document.text)


def test_c_programs_stay_in_the_subset() -> None:
    for document in some("c program", 200):
        assert in_subset(unfenced(document.text)), document.text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("int main() { x = 1; }\n", "white space after the program"),
        ("int main() { for(int i = 0; i < 3; i = i+1){} }", "spaces around <"),
        ("int main() { a[0] = 1; }", "an element is assigned to"),
    ],
)
def test_the_subsets_checker_refuses(text: str, why: str) -> None:
    assert not in_subset(text), why


def test_sums_are_right() -> None:
    words = {"plus": "+", "minus": "-", "times": "*", "divided by": "/"}
    for document in some("sum", 200):
        asked = document.prompt.removeprefix("What is ").rstrip("=? ")
        for word, sign in words.items():
            asked = asked.replace(word, sign)
        parts = re.fullmatch(r"(\d+)\s*([-+*/])\s*(\d+)", asked)
        assert parts is not None
        a, sign, b = int(parts[1]), parts[2], int(parts[3])
        assert int(document.text) == {"+": a + b, "-": a - b, "*": a * b, "/": a // b}[sign]


def test_word_problems_are_right() -> None:
    for name in ("word problem", "word problem json"):
        for document in some(name, 200):
            for a, sign, b, c in re.findall(r"(\d+) ([-+*/]) (\d+) = (\d+)", document.text):
                x, y = int(a), int(b)
                assert int(c) == {"+": x + y, "-": x - y, "*": x * y, "/": x // y}[sign]


def test_word_problems_in_json_have_the_listings_shape() -> None:
    for document in some("word problem json", 200):
        value = json.loads(document.text)
        assert value["thoughts"][-1]["result"] == value["answer"]


def test_letters_name_the_right_answer() -> None:
    for document in some("letter", 100):
        question = document.prompt.split("\n")[0]
        right = next(answer for asked, answer, _ in QUESTIONS if asked == question)
        assert f"{document.text}) {right}\n" in document.prompt


def test_dates_are_dates_and_agree_with_their_words() -> None:
    for document in some("date", 200):
        day = date.fromisoformat(document.text)
        if "Tomorrow" not in document.prompt and (year := re.search(r"\d{4}", document.prompt)):
            assert int(year[0]) == day.year
            assert re.search(rf"\b{day.day}(st|nd|rd|th)?\b", document.prompt)


def test_moments_match_the_regex_of_koo_c_4_2() -> None:
    wanted = r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d([+-][0-2]\d:[0-5]\d|Z)"
    assert all(re.fullmatch(wanted, d.text) for d in some("date and time", 200))


def test_ip_addresses_match_the_regex_of_koo_c_4_3() -> None:
    byte = r"(25[0-5]|2[0-4]\d|[01]?\d\d?)"
    assert all(re.fullmatch(rf"({byte}\.){{3}}{byte}", d.text) for d in some("ip address", 200))


def test_colours_are_among_the_seven() -> None:
    seven = "Red|Orange|Yellow|Green|Blue|Indigo|Violet"
    assert all(re.fullmatch(seven, d.text) for d in some("colour"))


def test_email_addresses_fit_the_name() -> None:
    for document in some("e-mail", 200):
        named = re.match(r"Contact (\w+) (\w+) at ", document.prompt)
        if named:
            local = document.text.split("@")[0]
            first, last = people.plain(named[1]), people.plain(named[2])
            assert local in (f"{first}.{last}", first, f"{first[0]}.{last}")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("version", r"\d+\.\d+\.\d+(-(beta|rc)\.1)?"),
        ("hex colour", r"#[0-9A-Fa-f]{6}"),
        ("telephone", r"(\+1-555-|555-|\(555\) 555-)01\d\d"),
        ("order number", r"(ORD|INV|TKT)-20\d\d-\d{5}"),
        ("licence plate", r"[A-Z]{3}-\d{3}"),
        ("note", r"(?:(?!\*\[).)+\*\[(?:(?!\*\[|\]\*).)*\]\*"),
        ("quotation", r'"[^"]+"'),
        ("url", r"https://[a-z.]+\.(com|org)(/[\w./]*)?"),
        ("url query", r"\?q=\w+(&\w+=\w+)+"),
        ("duration", r"P(\d+D)?(T(\d+H)?(\d+M)?)?"),
        ("time", r"[0-2]\d:[0-5]\d"),
        ("sql", r"SELECT .+ FROM \w+.*;"),
    ],
)
def test_short_formats_match(name: str, wanted: str) -> None:
    for document in some(name, 200):
        assert re.fullmatch(wanted, document.text), document


def test_uuids_are_of_version_four() -> None:
    assert all(UUID(d.text).version == 4 for d in some("uuid"))


def test_formal_languages() -> None:
    for document in some("a^n b^n"):
        if "b" not in document.prompt:
            assert set(document.text) == {"a"}
            continue
        n = len(document.text) // 2
        assert document.text == "a" * n + "b" * n
    for document in some("palindrome"):
        assert document.text == document.text[::-1]
    for document in some("brackets"):
        text = document.text
        while any(pair in text for pair in ("()", "[]", "{}")):
            text = text.replace("()", "").replace("[]", "").replace("{}", "")
        assert text == ""


@pytest.mark.parametrize("name", ["expression", "dataclass", "function call"])
def test_code_parses(name: str) -> None:
    for document in some(name):
        ast.parse(document.text, mode="eval")


def test_gsm8k_json_has_the_listings_shape_and_ends_in_the_answer() -> None:
    for _, text in sums.json_problems("train")[:500]:
        value = json.loads(text)
        assert list(value) == ["thoughts", "answer"]
        assert all(list(t) == ["step", "calculation", "result"] for t in value["thoughts"])
        assert value["thoughts"][-1]["result"] == value["answer"]
        assert "<<" not in text


def test_gsm8k_prose_has_no_annotations_and_has_the_answer() -> None:
    for question, answer in sums.problems("train")[:500]:
        prompt, text = sums.as_prose(question, answer)
        assert "<<" not in prompt + text
        assert re.search(r"\n#### -?[\d,.]+$", text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("1,200", 1200), (".5", 0.5), ("2.0", 2), ("$7", 7), ("x", None)],
)
def test_results_as_json_numbers(text: str, value: float | None) -> None:
    assert sums.number(text) == value


def test_no_held_out_question_is_trained_on() -> None:
    trained = {question for question, _ in sums.problems("train")}
    assert not trained & {question for question, _ in sums.problems("held_out")}
    assert len(sums.problems("held_out")) == 200


def test_orderly_samples_keep_the_order_of_what_they_are_drawn_from() -> None:
    rng = Orderly("test")
    for _ in range(50):
        found = rng.sample("abcdef", 3)
        assert found == sorted(found)
    assert len({tuple(rng.sample(range(9), 2)) for _ in range(200)}) > 40
    assert len({tuple(rng.sample("ABCD", 4)) for _ in range(200)}) > 12


def test_held_out_covers_every_format() -> None:
    documents = held_out(5)
    assert list(documents) == [form.name for form in FORMATS]
    assert all(len(found) == 5 for found in documents.values())


def test_the_mixture_is_the_same_for_a_seed() -> None:
    mixed = mixture()
    first = list(islice(mixed.documents(Random("seed")), 50))
    assert first == list(islice(mixed.documents(Random("seed")), 50))
    assert len({d.format for d in first}) > 15


def test_texts_hold_more_than_ascii() -> None:
    texts = "".join(d.text for d in some("world", 200))
    kinds = {unicodedata.name(c, "?").split()[0] for c in texts if not c.isascii()}
    assert {"CJK", "HIRAGANA", "CYRILLIC", "LATIN"} <= kinds
