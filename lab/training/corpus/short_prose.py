"""Short prose: quotations, bullet lists, notes in brackets, paragraphs, words of many scripts."""

from __future__ import annotations

from random import Random

from lab.training.corpus import document
from lab.training.corpus.document import Format, Person, listed, person

QUOTE_PROMPTS = ("She said: ", "He asked: ", "A quotation: ")
BULLET_PROMPTS = ("Summary:\n", "A shopping list:\n", "Things to do today:\n")
NOTE_PROMPTS = ("A text with a note: ", "Text and note: ")
PARAGRAPH_PROMPTS = (
    "A short text:\n",
    "A short story about a fox:\n",
    "A paragraph about Paris:\n",
)
BLANK_PROMPTS = ("A short text, then a blank line:\n", "A word, then a blank line:\n")
GREETING_PROMPTS = ("A greeting: ", "A greeting in Japanese: ", "A greeting in Russian: ")
UNICODE_PROMPTS = ("'Thank you' in Japanese: ", "'Good morning' in German: ", "A happy emoji: ")
SAYINGS = (
    "I will be there at {hour}.",
    "I will be there at noon.",
    "Where is the {animal}?",
    "The {animal} is in the garden.",
    "We should meet on {weekday}.",
    "Can you bring some {fruit}?",
    "It is a beautiful day.",
    "The train to {city} is late.",
    "I have never been to {city}.",
    "Thank you very much!",
    "See you tomorrow.",
    "What time is it?",
    "Do you like {hobby}?",
    "I love {hobby} and {fruit}.",
    "Please close the door.",
    "Let us go home.",
)
ERRANDS = (
    "Buy {fruit}",
    "Call {name}",
    "Write to {name}",
    "Feed the {animal}",
    "Clean the kitchen",
    "Pay the rent",
    "Go {hobby}",
    "Book a train to {city}",
    "Water the plants",
)
FACTS = (
    "The meeting is on {weekday}",
    "{name} will write the report",
    "The budget was approved",
    "Sales grew by {number} percent",
    "The office in {city} will open in {month}",
    "The next release is planned for {month}",
    "All tests have passed",
    "Costs fell by {number} percent",
)
GOODS = listed(
    "milk bread butter cheese eggs rice pasta tomatoes onions apples coffee tea sugar salt"
)
NOTES = (
    ("The {animal} sleeps in the sun", "it is very old"),
    ("We met in {city}", "in {month}"),
    ("{name} is a {job}", "and likes {hobby}"),
    ("The shop opens at nine", "except on {weekday}"),
    ("I bought some {fruit}", "they were cheap"),
    ("Water boils at 100 degrees", "at sea level"),
    ("The train was late", "as it often is"),
)
SENTENCES = (
    "{name} lives in {city} and works as a {job}.",
    "On {weekday} {first} likes to go {hobby}.",
    "In {month} the days are {days} and the garden is full of {fruit}.",
    "There is a small house near the river where a {animal} sleeps by the door.",
    "Every morning {first} drinks coffee and reads the newspaper.",
    "The old {animal} walked slowly down the road.",
    "It was raining, so they stayed at home and cooked soup.",
    "The market sells bread, cheese and {fruit}.",
    "In the evening they sat by the fire and told stories.",
    "Nobody in {city} had ever seen such a {animal}.",
    "The children played in the park until it was dark.",
    "{first} opened the window and looked at the sea.",
    "A {animal} ran across the field and hid behind a tree.",
    "Last {weekday} {first} took the train to {city}.",
    "The weather was cold, but the room was warm.",
    "{first} wrote a long letter to an old friend.",
    "They walked along the river and talked about the future.",
    "The library in {city} is open every day but {weekday}.",
)
#: Short things to say, none longer than ten bytes.
SHORT = listed(
    "Thanks!|Hello!|Good day.|Yes.|No.|See you!|Welcome!|Well done|Goodbye!|I agree.", "|"
)
GREETINGS = (
    ("Japanese", "こんにちは 世界。"),
    ("Japanese", "こんにちは 世界!"),
    ("Japanese", "こんにちは 山田、田中。"),
    ("Russian", "Привет «Анна»!"),
    ("Russian", "Привет «мир»!"),
    ("French", "héllo «Zoé»!"),
    ("French", "héllo «café»…"),
    ("Greek", "héllo φίλε!"),
    ("Greek", "héllo κόσμε!"),
    ("emoji", "👋🏽 😀!"),
    ("emoji", "👋🏽 😀、😊!"),
)
WORLD = (
    ("Thank you", "Japanese", "ありがとう"),
    ("Thank you", "German", "Danke schön"),
    ("Thank you", "French", "Merci"),
    ("Thank you", "Russian", "Спасибо"),
    ("Thank you", "Chinese", "谢谢"),
    ("Good morning", "German", "Guten Morgen"),
    ("Good morning", "Japanese", "おはよう"),
    ("Good morning", "Spanish", "Buenos días"),
    ("Hello", "Japanese", "こんにちは"),
    ("Hello", "Chinese", "你好"),
    ("Hello", "Korean", "안녕하세요"),
    ("Hello", "Russian", "Привет"),
    ("Hello", "Greek", "Γειά σου"),
    ("Hello", "French", "Bonjour"),
    ("Coffee", "French", "café"),
    ("Girl", "German", "Mädchen"),
    ("Street", "German", "Straße"),
    ("Tomorrow", "Spanish", "mañana"),
    ("Water", "Chinese", "水"),
    ("Mountain", "Japanese", "山"),
)
EMOJI = (
    ("happy", "😀"),
    ("sad", "😢"),
    ("love", "❤️"),
    ("party", "🎉"),
    ("fire", "🔥"),
    ("cat", "🐱"),
)


def fill(rng: Random, form: str, p: Person | None = None) -> str:
    """A template with every blank filled in."""
    p = p or person(rng)
    month = rng.randrange(12)
    return form.format(
        name=p.name,
        first=p.first,
        job=p.job.lower(),
        city=p.city,
        hobby=rng.choice(("swimming", "hiking", "running", "fishing", "dancing", "climbing")),
        animal=rng.choice(document.ANIMALS),
        fruit=rng.choice(document.FRUIT),
        weekday=rng.choice(document.WEEKDAYS),
        month=document.MONTHS[month],
        days="long" if 3 < month < 9 else "short",
        hour=rng.choice(("noon", "ten o'clock", "six", "midnight")),
        number=rng.randint(2, 20),
    )


def quote(rng: Random) -> tuple[str, str]:
    """Something said, in quotation marks."""
    text = fill(rng, rng.choice(SAYINGS))
    p = person(rng)
    ask = "asked" if text.endswith("?") else "said"
    prompts = (f"She {ask}: ", f"He {ask}: ", f"{p.first} {ask}: ", f"{p.name} {ask}: ")
    return ("A quotation: " if rng.random() < 0.15 else rng.choice(prompts)), f'"{text}"'


def bullets(rng: Random) -> tuple[str, str]:
    """A list with a star or a dash before each item."""
    mark = rng.choice("***-")
    kind = rng.choice(("summary", "summary", "shopping", "errands"))
    if kind == "shopping":
        head, items = "A shopping list:\n", rng.sample(GOODS, rng.randint(3, 5))
    elif kind == "errands":
        head = rng.choice(("Things to do today:\n", "To do:\n"))
        items = [fill(rng, form) for form in rng.sample(ERRANDS, rng.randint(2, 4))]
    else:
        head = rng.choice(("Summary:\n", "Summary of the meeting:\n", "Key points:\n"))
        items = [fill(rng, form) + "." for form in rng.sample(FACTS, rng.randint(2, 4))]
    return head, "\n".join(f"{mark} {item}" for item in items)


def note(rng: Random) -> tuple[str, str]:
    """Text, then a note between ``*[`` and ``]*``, as in the KBNF post."""
    text, aside = rng.choice(NOTES)
    p = person(rng)
    prompts = ("A text with a note: ", "Text and note: ", "A sentence with a note:\n")
    return rng.choice(prompts), f"{fill(rng, text, p)}*[{fill(rng, aside, p)}]*"


def paragraph(rng: Random) -> tuple[str, str]:
    """Two to four sentences about one person; one in three ends with a blank line."""
    p = person(rng)
    chosen = rng.sample(SENTENCES, rng.randint(2, 4))
    animal = rng.choice(document.ANIMALS)
    text = " ".join(fill(rng, form.replace("{animal}", animal), p) for form in chosen)
    heads = ["A short text:\n", "A paragraph:\n"]
    if animal in text:
        heads += [f"A short story about a {animal}:\n"]
    if p.city in text:
        heads += [f"A paragraph about {p.city}:\n"]
    if p.first in text:
        heads += [f"A short text about {p.name}:\n"]
    return rng.choice(heads), text + ("\n\n" if rng.random() < 0.33 else "")


def blank(rng: Random) -> tuple[str, str]:
    """A text or a few words, always followed by a blank line."""
    if rng.random() < 0.5:
        heads = ("A word, then a blank line:\n", "A few words, then a blank line:\n")
        return rng.choice(heads), rng.choice(SHORT) + "\n\n"
    text = " ".join(fill(rng, form) for form in rng.sample(SENTENCES, rng.randint(1, 2)))
    return "A short text, then a blank line:\n", text + "\n\n"


def greeting(rng: Random) -> tuple[str, str]:
    """A greeting in one of several scripts."""
    language, text = rng.choice(GREETINGS)
    return rng.choice(("A greeting: ", f"A greeting in {language}: ")), text


def world(rng: Random) -> tuple[str, str]:
    """A word in another language, or an emoji."""
    if rng.random() < 0.2:
        feeling, sign = rng.choice(EMOJI)
        return f"A {feeling} emoji: ", sign
    english, language, word = rng.choice(WORLD)
    prompts = (f"'{english}' in {language}: ", f"{english} in {language}: ", f"{language}: ")
    return rng.choice(prompts), word


PROSE_FORMATS = (
    Format("quotation", 1.2, QUOTE_PROMPTS, quote),
    Format("bullet list", 1.5, BULLET_PROMPTS, bullets),
    Format("note", 0.8, NOTE_PROMPTS, note),
    Format("paragraph", 2.5, PARAGRAPH_PROMPTS, paragraph),
    Format("blank line", 0.7, BLANK_PROMPTS, blank),
    Format("greeting", 0.4, GREETING_PROMPTS, greeting),
    Format("world", 0.8, UNICODE_PROMPTS, world),
)
