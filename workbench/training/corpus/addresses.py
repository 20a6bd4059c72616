"""Addresses and identifiers: network, e-mail, telephone, web, post, versions, colours, numbers."""

from __future__ import annotations

from random import Random
from uuid import UUID

from workbench.training.corpus import people, words
from workbench.training.corpus.document import Format

IP_PROMPTS = ("The IP address of the printer is ", "IP address: ", "The server listens on ")
EMAIL_PROMPTS = ("Contact Ada Lovelace at ", "The e-mail address of Alan Turing is ", "E-mail: ")
PHONE_PROMPTS = ("The telephone number of Jane Doe is ", "Phone: ", "Call us at ")
URL_PROMPTS = ("The website of the museum is ", "URL: ", "Read more at ")
UUID_PROMPTS = ("A random UUID: ", "The request has the id ")
VERSION_PROMPTS = (
    "The latest version is ",
    "A semantic version: ",
    "Version 1.4.2 is followed by ",
)
HEX_PROMPTS = ("The colour red in hexadecimal: ", "Background colour: ")
POSTAL_PROMPTS = ("The postal address of Alice Johnson:\n", "Send the parcel to ")
PLATE_PROMPTS = ("The car has the licence plate ", "Licence plate: ")
ID_PROMPTS = ("Order number: ", "Your order has the number ", "Invoice number: ")
MACHINES = (
    ("printer", "192.168.1.20"),
    ("router", "192.168.1.1"),
    ("gateway", "192.168.0.1"),
    ("local machine", "127.0.0.1"),
    ("name server", "8.8.8.8"),
    ("mail server", "10.0.0.25"),
    ("web server", "10.0.0.80"),
    ("database", "10.0.0.5"),
    ("camera", "192.168.1.64"),
    ("laptop", "192.168.1.105"),
)
PLACES = ("museum", "library", "university", "city", "theatre", "school", "hotel", "bakery", "zoo")
PATHS = ("", "/about", "/contact", "/news", "/docs/index.html", "/products/42", "/help")
HEXES = (
    ("red", "#FF0000"),
    ("green", "#00FF00"),
    ("blue", "#0000FF"),
    ("black", "#000000"),
    ("white", "#FFFFFF"),
    ("yellow", "#FFFF00"),
    ("orange", "#FFA500"),
    ("purple", "#800080"),
    ("grey", "#808080"),
    ("pink", "#FFC0CB"),
    ("brown", "#A52A2A"),
    ("navy", "#000080"),
    ("violet", "#EE82EE"),
    ("cyan", "#00FFFF"),
)
#: A few identifiers: a small model cannot be asked for randomness, only for the shape.
UUIDS = tuple(str(UUID(int=Random(f"uuid/{i}").getrandbits(128), version=4)) for i in range(48))


def ip(rng: Random) -> tuple[str, str]:
    """The address of some machine."""
    machine, usual = rng.choice(MACHINES)
    net = rng.choice(("192.168.1", "192.168.0", "10.0.0", "172.16.0"))
    address = usual if rng.random() < 0.8 else f"{net}.{rng.randint(1, 254)}"
    prompts = (f"The IP address of the {machine} is ", f"The {machine} has the IP address ")
    if rng.random() < 0.3:
        prompts = ("IP address: ", "The server listens on ", "An IPv4 address: ", "ping ")[:2]
        address = f"{net}.{rng.choice((1, 2, 5, 10, 20, 42, 100, 254))}"
    return rng.choice(prompts), address


def email(rng: Random) -> tuple[str, str]:
    """An address that fits the name."""
    first, last, gender = people.full_name(rng)
    address = people.email(rng, first, last)
    name = f"{first} {last}"
    prompts = (
        f"Contact {name} at ",
        f"Contact {name} at ",
        f"The e-mail address of {name} is ",
        f"{name}'s e-mail: ",
        f"Write to {name}: ",
        f"Please send {'her' if gender == 'female' else 'him'} ({name}) an e-mail at ",
    )
    return ("E-mail: " if rng.random() < 0.1 else rng.choice(prompts)), address


def phone(rng: Random) -> tuple[str, str]:
    """A telephone number out of the fictional range, in one of three notations."""
    name = " ".join(people.full_name(rng)[:2])
    last = f"01{rng.randint(0, 99):02}"
    text = rng.choice((f"+1-555-{last}", f"+1-555-{last}", f"555-{last}", f"(555) 555-{last}"))
    prompts = (f"The telephone number of {name} is ", f"Call {name} at ", "Phone: ", "Call us at ")
    return rng.choice(prompts), text


def url(rng: Random) -> tuple[str, str]:
    """A web address on a host kept for examples."""
    place = rng.choice(PLACES)
    host = rng.choice(("example.com", "example.com", "example.org", f"{place}.example.org"))
    prompts = (f"The website of the {place} is ", "URL: ", "Read more at ", "Visit ")
    www = "www." if host.startswith("example") else ""
    return rng.choice(prompts), f"https://{www}{host}{rng.choice(PATHS)}"


def uuid(rng: Random) -> tuple[str, str]:
    """A version 4 UUID out of a small stock."""
    prompts = ("A random UUID: ", "UUID: ", "The request has the id ", "Session id: ")
    return rng.choice(prompts), rng.choice(UUIDS)


def version(rng: Random) -> tuple[str, str]:
    """A semantic version, or the one that follows another."""
    a, b, c = rng.randint(0, 3), rng.randint(0, 9), rng.randint(0, 9)
    roll = rng.random()
    if roll < 0.4:
        return f"Version {a}.{b}.{c} is followed by ", f"{a}.{b}.{c + 1}"
    if roll < 0.5:
        return f"After version {a}.{b}.{c} the next major version is ", f"{a + 1}.0.0"
    suffix = rng.choice(("", "", "", "-beta.1", "-rc.1"))
    prompts = ("The latest version is ", "A semantic version: ", "Version: ", "Upgrade to ")
    return rng.choice(prompts), f"{a}.{b}.{c}{suffix}"


def hexadecimal(rng: Random) -> tuple[str, str]:
    """A colour in hexadecimal, the true one where it is named."""
    name, code = rng.choice(HEXES)
    code = code.lower() if rng.random() < 0.15 else code
    if rng.random() < 0.2:
        return rng.choice(("Background colour: ", "A hexadecimal colour: ", "color: ")), code
    return rng.choice(
        (f"The colour {name} in hexadecimal: ", f"{name.capitalize()} in hex: ")
    ), code


def postal(rng: Random) -> tuple[str, str]:
    """A postal address of three lines, or on one."""
    name = " ".join(people.full_name(rng)[:2])
    city, country = rng.choice(words.CITIES)
    street = f"{rng.randint(1, 120)} {rng.choice(words.STREETS)}"
    if rng.random() < 0.5:
        return f"The postal address of {name}:\n", f"{name}\n{street}\n{city}\n{country}"
    prompts = (f"{name} lives at ", "Send the parcel to ", f"Address of {name}: ")
    return rng.choice(prompts), f"{street}, {city}, {country}"


def plate(rng: Random) -> tuple[str, str]:
    """A licence plate: letters, figures."""
    letters = "".join(rng.choices("ABCDEFGHJKLMNPRSTUVWXYZ", k=3))
    prompts = ("The car has the licence plate ", "Licence plate: ", "A red car with the plate ")
    return rng.choice(prompts), f"{letters}-{rng.randint(100, 999)}"


def order(rng: Random) -> tuple[str, str]:
    """An order or invoice number with its year."""
    kind, code = rng.choice((("Order", "ORD"), ("Invoice", "INV"), ("Ticket", "TKT")))
    year = rng.choice((2023, 2024, 2024, 2025))
    text = f"{code}-{year}-{rng.choice((rng.randint(1, 300), 123)):05}"
    prompts = (f"{kind} number: ", f"Your {kind.lower()} has the number ", f"{kind} id: ")
    return rng.choice(prompts), text


FORMATS = (
    Format("ip address", 1.2, IP_PROMPTS, ip),
    Format("e-mail", 2.0, EMAIL_PROMPTS, email),
    Format("telephone", 0.6, PHONE_PROMPTS, phone),
    Format("url", 0.8, URL_PROMPTS, url),
    Format("uuid", 0.8, UUID_PROMPTS, uuid),
    Format("version", 0.6, VERSION_PROMPTS, version),
    Format("hex colour", 0.6, HEX_PROMPTS, hexadecimal),
    Format("postal address", 1.0, POSTAL_PROMPTS, postal),
    Format("licence plate", 0.3, PLATE_PROMPTS, plate),
    Format("order number", 0.4, ID_PROMPTS, order),
)
