"""The texts of a structural tag up to a length, computed from the definitions by enumeration."""

from __future__ import annotations

import random
from collections.abc import Iterable
from itertools import product
from typing import Any

Format = dict[str, Any]
Texts = frozenset[str]
ALPHABET = "abc"


def texts(form: Format, most: int, ends: tuple[str, ...] = ()) -> Texts:
    """The texts of a format with at most ``most`` characters of the alphabet."""
    match form["type"]:
        case "const_string":
            return _short([form["value"]], most)
        case "any_text":
            excluded = [*form.get("excludes", ()), *filter(None, ends)]
            free = (one for one in _all(most) if not any(word in one for word in excluded))
            return _short(free, min(most, form.get("max_chars", most)))
        case "sequence":
            return _row([texts(one, most, ends) for one in form["elements"]], most)
        case "or":
            return frozenset().union(*(texts(one, most, ends) for one in form["elements"]))
        case "optional":
            return texts(form["content"], most, ends) | {""}
        case "star":
            return _copies(texts(form["content"], most, ends), 0, -1, most)
        case "plus":
            return _copies(texts(form["content"], most, ends), 1, -1, most)
        case "repeat":
            inside = texts(form["content"], most, ends)
            return _copies(inside, form["min"], form["max"], most)
        case "tag":
            return _tag(form, form["begin"], most)
        case "tags_with_separator":
            return _separated(form, most)
        case "triggered_tags":
            return _triggered(form, most, ends)
        case "dispatch":
            rules = [(word, texts(one, most, ends)) for word, one in form["rules"]]
            return _dispatched(rules, form.get("excludes", []), form.get("loop", True), most)
    raise AssertionError(form)


def _all(most: int) -> Iterable[str]:
    for length in range(most + 1):
        yield from map("".join, product(ALPHABET, repeat=length))


def _short(some: Iterable[str], most: int) -> Texts:
    return frozenset(one for one in some if len(one) <= most)


def _row(parts: list[Texts], most: int) -> Texts:
    found: Texts = frozenset([""])
    for part in parts:
        found = _short((one + other for one in found for other in part), most)
    return found


def _copies(one: Texts, low: int, high: int, most: int) -> Texts:
    found: set[str] = set()
    here: Texts = frozenset([""])
    seen: set[Texts] = set()
    count = 0
    while high < 0 or count <= high:
        if count >= low:
            found |= here
            if here in seen:
                break
            seen.add(here)
        here = _row([here, one], most)
        count += 1
    return frozenset(found)


def _tag(form: Format, begin: str, most: int) -> Texts:
    ends = tuple([form["end"]] if isinstance(form["end"], str) else form["end"])
    content = texts(form["content"], most, ends)
    return _row([frozenset([begin]), content, frozenset(ends)], most)


def _separated(form: Format, most: int) -> Texts:
    one = frozenset().union(*(_tag(tag, tag["begin"], most) for tag in form["tags"]))
    more = _row([frozenset([form["separator"]]), one], most)
    rest = frozenset([""]) if form.get("stop_after_first") else _copies(more, 0, -1, most)
    found = _row([one, rest], most)
    return found if form.get("at_least_one") else found | {""}


def _triggered(form: Format, most: int, ends: tuple[str, ...]) -> Texts:
    rules = []
    for trigger in form["triggers"]:
        tags = [tag for tag in form["tags"] if tag["begin"].startswith(trigger)]
        after = (_tag(tag, tag["begin"][len(trigger) :], most) for tag in tags)
        rules.append((trigger, frozenset().union(*after)))
    once = form.get("stop_after_first", False)
    excluded = [*form.get("excludes", ()), *filter(None, ends)]
    free = _dispatched(rules, excluded, not once, most)
    if not form.get("at_least_one"):
        return free
    first = frozenset().union(*(_tag(tag, tag["begin"], most) for tag in form["tags"]))
    return first if once else _row([first, free], most)


def _dispatched(
    rules: list[tuple[str, Texts]], excluded: list[str], loop: bool, most: int
) -> Texts:
    """Character by character, as ``syntax.free_text`` defines it."""
    found: set[str] = set()
    waiting = [("", "")]  # the whole text, and its current free part
    for whole, free in waiting:  # grows during iteration
        found.add(whole)
        for sign in ALPHABET if len(whole) < most else "":
            here, part = whole + sign, free + sign
            if any(part.endswith(word) for word in excluded):
                continue
            ended = [(word, after) for word, after in rules if part.endswith(word)]
            if not ended:
                waiting.append((here, part))
                continue
            _, after = max(ended, key=lambda rule: len(rule[0]))
            for one in _short((here + rest for rest in after), most):
                if loop and (one, "") not in waiting:
                    waiting.append((one, ""))
                found.add(one)
    return frozenset(found)


def random_format(draw: random.Random, depth: int = 2, *, apart: bool = False) -> Format:
    """A random format; ``apart``: no trigger or excluded text is inside another one."""

    def word(low: int = 1) -> str:
        return "".join(draw.choices(ALPHABET, k=draw.randint(low, 2)))

    def inside() -> Format:
        return random_format(draw, depth - 1, apart=apart)

    def tag(begin: str) -> Format:
        end: object = word() if draw.random() < 0.8 else [word(), word()]
        return {"type": "tag", "begin": begin, "content": inside(), "end": end}

    def flags(*names: str) -> dict[str, bool]:
        return {name: draw.random() < 0.4 for name in names}

    def excludes() -> list[str]:
        return [word()] if draw.random() < 0.4 else []

    kinds = ["const_string", "any_text"]
    if depth:
        kinds += ["sequence", "or", "optional", "star", "plus", "repeat", "tag", "tag"]
        kinds += ["tags_with_separator", "triggered_tags", "triggered_tags", "dispatch"]
    kind = draw.choice(kinds)
    form: Format = {"type": kind}
    match kind:
        case "const_string":
            form["value"] = word(0)
        case "any_text":
            form |= {"excludes": excludes()}
            form |= {"max_chars": draw.randint(0, 3)} if draw.random() < 0.2 else {}
        case "sequence" | "or":
            form["elements"] = [inside() for _ in range(draw.randint(1, 3))]
        case "optional" | "star" | "plus":
            form["content"] = inside()
        case "repeat":
            low = draw.randint(0, 2)
            form |= {"min": low, "max": draw.choice([-1, low, low + 1]), "content": inside()}
        case "tag":
            form = tag(word(0))
        case "tags_with_separator":
            form["tags"] = [tag(word()) for _ in range(draw.randint(1, 2))]
            form |= {"separator": word(0), **flags("at_least_one", "stop_after_first")}
        case "triggered_tags":
            triggers = _triggers(draw, word)
            form |= {"triggers": triggers, "excludes": excludes()}
            form["tags"] = [tag(one + draw.choice(["", "a", "b"])) for one in triggers]
            form |= flags("at_least_one", "stop_after_first")
            if any(_starts(one["begin"], triggers) != 1 for one in form["tags"]):
                return random_format(draw, depth, apart=apart)
        case "dispatch":
            form["rules"] = [[one, inside()] for one in _triggers(draw, word)]
            form |= {"excludes": excludes(), **flags("loop")}
    if apart and not _apart(form):
        return random_format(draw, depth, apart=apart)
    return form


def _triggers(draw: random.Random, word: Any) -> list[str]:
    return list(dict.fromkeys(word() for _ in range(draw.randint(1, 2))))


def _starts(begin: str, triggers: list[str]) -> int:
    return sum(begin.startswith(one) for one in triggers)


def _apart(form: Format) -> bool:
    words = [*form.get("triggers", ()), *(rule[0] for rule in form.get("rules", ()))]
    words += form.get("excludes", ())
    return all(
        one is other or one not in other
        for i, one in enumerate(words)
        for j, other in enumerate(words)
        if i != j
    )
