"""Characters of a role-playing game in the shape of DOMINO's listing 7."""

from __future__ import annotations

import json
from random import Random

from workbench.training.corpus.document import Format, fenced
from workbench.training.corpus.words import listed

PROMPTS = (
    "The following is a character profile for an RPG game in JSON format.\n```json\n",
    "A character profile for an RPG game:\n```json\n",
    "A character profile for an RPG game in JSON format:\n```json\n",
    "A character that is a level 5 human fighter with 10 strength, 10 dexterity, "
    "10 constitution, 10 intelligence, 10 wisdom, and 10 charisma:\n```json\n",
    "JSON specifying a character that is a level 5 dwarf fighter from a game:\n```json\n",
)
NAMES = listed(
    "Aldric Alia Arin Borin Brenna Cedric Dain Elara Elowen Erik Fenn Freya Galen Gareth Gwen "
    "Hilda Isolde Joren Kael Kira Lena Lyra Mira Nolan Orin Petra Quill Rowan Runa Sable Talia "
    "Thalia Theron Ulric Vera Wren Yara Zane"
)
#: Class: armour, weapon, least strength.
CLASSES = {
    "fighter": ("chainmail", "sword", 13),
    "warrior": ("plate", "axe", 14),
    "knight": ("plate", "sword", 14),
    "paladin": ("plate", "sword", 13),
    "barbarian": ("leather", "axe", 15),
    "ranger": ("leather", "bow", 11),
    "archer": ("leather", "bow", 10),
    "rogue": ("leather", "bow", 9),
    "guard": ("chainmail", "axe", 12),
    "hunter": ("leather", "bow", 11),
}
ITEMS = {
    "sword": ("shield", "whetstone", "healing potion", "torch", "banner", "war horn"),
    "axe": ("shield", "round helmet", "healing potion", "ale flask", "iron ring", "torch"),
    "bow": ("quiver of arrows", "rope", "hunting knife", "cloak", "healing potion", "map"),
}
MANTRAS = (
    "Strike first, strike fast",
    "Never give up",
    "Honor above all",
    "Fortune favors the bold",
    "Stand and fight",
    "Protect the weak",
    "Quick and quiet",
    "No fear, no retreat",
    "One shot, one kill",
    "Steel and courage",
    "The shadow is my friend",
    "For the king",
)
DESCRIPTIONS = (
    "A nimble fighter",
    "A nimble fighter",
    "A nimble fighter",
    "A brave warrior",
    "A silent hunter",
    "A strong and loyal guard",
)
HEADS = (
    "The following is a character profile for an RPG game in JSON format.",
    "A character profile for an RPG game:",
    "A character profile for an RPG game in JSON format:",
    "A character for an RPG game in JSON format:",
)


def heading(rng: Random, trade: str, strength: int) -> str:
    """One of the paper's ways to ask for a character; where it gives strength, the text agrees."""
    level, race = rng.randint(1, 12), rng.choice(("human", "dwarf", "elf", "orc", "halfling"))
    roll = rng.random()
    if roll < 0.65:
        return rng.choice(HEADS)
    if roll < 0.85:
        return f"JSON specifying a character that is a level {level} {race} {trade} from a game:"
    others = ", ".join(f"10 {a}" for a in ("dexterity", "constitution", "intelligence", "wisdom"))
    return (
        f"A character that is a level {level} {race} {trade} with {strength} strength, "
        f"{others}, and 10 charisma:"
    )


def pretty(value: dict[str, object], indent: int) -> str:
    """Indented, with the list of things on one line."""
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()]
    return "{\n" + ",\n".join(" " * indent + line for line in lines) + "\n}"


def make(rng: Random) -> tuple[str, str]:
    """A character whose armour, weapon, strength and things suit its class."""
    trade = rng.choice(tuple(CLASSES))
    armor, weapon, least = CLASSES[trade]
    strength = rng.randint(least, least + 4) if rng.random() < 0.8 else 10
    value: dict[str, object] = {
        "id": rng.randint(1, 20),
        "description": rng.choice(DESCRIPTIONS),
        "name": rng.choice(NAMES),
        "age": rng.randint(18, 45),
        "armor": armor,
        "weapon": weapon,
        "class": trade,
        "mantra": rng.choice(MANTRAS),
        "strength": strength,
        "items": rng.sample(ITEMS[weapon], 3),
    }
    roll = rng.random()
    if roll < 0.6:
        text = pretty(value, 2 if rng.random() < 0.7 else 4)
    elif roll < 0.75:
        text = json.dumps(value, indent=2)
    elif roll < 0.9:
        text = json.dumps(value)
    else:
        text = json.dumps(value, separators=(",", ":"))
    return heading(rng, trade, strength) + "\n```json\n", fenced(rng, text)


FORMATS = (Format("rpg character", 6.0, PROMPTS, make),)
