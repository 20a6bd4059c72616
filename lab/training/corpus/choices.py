"""Short answers: choices, dates, addresses and identifiers."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from uuid import UUID

from lab.training.corpus import document
from lab.training.corpus.document import Format, listed

COLOUR_PROMPTS = (
    "The colour of a ripe banana: ",
    "The colour of the sky on a clear day: ",
    "The colour of grass: ",
)
YES_PROMPTS = ("Is the sky blue? Answer Yes or No: ", "Is 7 greater than 9? Answer Yes or No: ")
SENTIMENT_PROMPTS = ("Review: I loved this film.\nSentiment: ",)
TOPIC_PROMPTS = ("Topic of 'The striker scored twice in the final': ",)
LETTER_PROMPTS = (
    "Which of these is a fruit?\nA) a car\nB) an apple\nC) a house\nD) a river\nAnswer: ",
)
CHESS_PROMPTS = ("A good first move in chess: ", "1. e4 ", "A chess game: ")
#: The seven answers of Koo et al. 2024, appendix C.4.1, and what has that colour.
THINGS = (
    ("Red", "a ripe tomato|blood|a fire engine|a ruby|a strawberry|a stop sign|a cherry"),
    ("Orange", "a carrot|an orange|a pumpkin|a basketball|a tangerine"),
    ("Yellow", "a ripe banana|a lemon|the sun|a sunflower|a canary|butter|a dandelion"),
    ("Green", "grass|a leaf|a frog|a cucumber|an emerald|broccoli|a lime|spinach"),
    ("Blue", "the sky on a clear day|the sea|a sapphire|the sky|blueberries|the ocean"),
    ("Indigo", "dark blue jeans|the night sky|indigo dye|ink"),
    ("Violet", "lavender|an amethyst|violets|a plum|an aubergine"),
)
FACTS = (
    ("Is the sky blue?", True),
    ("Is ice cold?", True),
    ("Is fire cold?", False),
    ("Can fish fly to the moon?", False),
    ("Is Paris the capital of France?", True),
    ("Is London the capital of Spain?", False),
    ("Do cats bark?", False),
    ("Do dogs bark?", True),
    ("Is water wet?", True),
    ("Is snow white?", True),
    ("Is the sun a star?", True),
    ("Is a whale a fish?", False),
    ("Do birds have feathers?", True),
    ("Does a week have seven days?", True),
    ("Does a year have ten months?", False),
    ("Is a triangle round?", False),
    ("Can penguins swim?", True),
    ("Is the Earth flat?", False),
)
SUBJECTS = listed("film book meal hotel concert game restaurant song phone service room show")
GOOD = (
    "I loved this {}",
    "What a wonderful {}",
    "The best {} in years",
    "A great {}, I was happy with it",
    "This {} was excellent",
    "I enjoyed every minute of this {}",
)
BAD = (
    "I hated this {}",
    "What a terrible {}",
    "The worst {} in years",
    "A boring {}, I was disappointed",
    "This {} was awful",
    "I want my money back for this {}",
)
SO_SO = ("The {} was okay", "An average {}", "This {} was neither good nor bad")
TOPICS = (
    ("Sports", "The striker scored twice in the final|The team won the match|She ran a marathon"),
    ("Politics", "Parliament voted on the new law|The minister resigned|The election is on Sunday"),
    ("Weather", "Heavy rain is expected tomorrow|It will be sunny and warm|Snow fell in the north"),
)
#: A question with one right answer and three wrong ones.
QUESTIONS = (
    ("Which of these is a fruit?", "an apple", ("a car", "a house", "a river")),
    ("Which of these is an animal?", "a horse", ("a table", "a tree", "a song")),
    ("Which of these is a city?", "Paris", ("Monday", "water", "seven")),
    ("Which of these is a colour?", "green", ("iron", "bread", "quickly")),
    ("Which of these is a number?", "twelve", ("blue", "a chair", "rain")),
    ("What is the capital of Italy?", "Rome", ("Berlin", "Oslo", "Madrid")),
    ("What is the capital of Japan?", "Tokyo", ("Paris", "Cairo", "Boston")),
    ("How many days has a week?", "seven", ("five", "ten", "thirty")),
    ("What do cows drink?", "water", ("sand", "stones", "paper")),
)
#: Openings as games are written down.
OPENINGS = (
    "e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O",
    "e4 e5 Nf3 Nc6 Bc4 Bc5 c3 Nf6 d4 exd4",
    "e4 c5 Nf3 d6 d4 cxd4 Nxd4 Nf6 Nc3 a6",
    "e4 e6 d4 d5 Nc3 Bb4 e5 c5",
    "e4 c6 d4 d5 Nc3 dxe4 Nxe4 Bf5",
    "d4 d5 c4 e6 Nc3 Nf6 Bg5 Be7",
    "d4 Nf6 c4 g6 Nc3 Bg7 e4 d6 Nf3 O-O",
    "d4 Nf6 c4 e6 Nc3 Bb4 Qc2 O-O",
    "c4 e5 Nc3 Nf6 Nf3 Nc6",
    "Nf3 d5 g3 Nf6 Bg2 e6 O-O Be7",
)


def colour(rng: Random) -> tuple[str, str]:
    """Which of the seven colours a thing has."""
    name, things = rng.choice(THINGS)
    thing = rng.choice(things.split("|"))
    prompts = (
        f"The colour of {thing}: ",
        f"The colour of {thing}: ",
        f"The colour of {thing}:\n",
        f"What colour is {thing}? ",
        f"The color of {thing} is ",
    )
    return rng.choice(prompts), name


def yes_or_no(rng: Random) -> tuple[str, str]:
    """A question of fact, or a comparison of two numbers."""
    question, truth = rng.choice(FACTS)
    if rng.random() < 0.4:
        a, b = rng.sample(range(1, 21), 2)
        word, truth = rng.choice((("greater", a > b), ("less", a < b)))
        question = f"Is {a} {word} than {b}?"
    ending = rng.choice((" Answer Yes or No: ", " ", " Yes or No: ", "\nAnswer: "))
    return question + ending, "Yes" if truth else "No"


def sentiment(rng: Random) -> tuple[str, str]:
    """A short review and what its writer felt."""
    label, forms = rng.choice((("Positive", GOOD), ("Negative", BAD), ("Neutral", SO_SO)))
    said = rng.choice(forms).format(rng.choice(SUBJECTS))
    mark = "!" if label == "Positive" and rng.random() < 0.4 else "."
    ask = rng.choice(("Sentiment: ", "Sentiment: ", "Sentiment (Positive, Negative or Neutral): "))
    return f"Review: {said}{mark}\n{ask}", label


def topic(rng: Random) -> tuple[str, str]:
    """A sentence and what it is about."""
    label, sentences = rng.choice(TOPICS)
    sentence = rng.choice(sentences.split("|"))
    prompts = (f"Topic of '{sentence}': ", f"{sentence}.\nTopic (Sports, Politics, Weather): ")
    return rng.choice(prompts), label


def chess(rng: Random) -> tuple[str, str]:
    """A first move, the reply to an opening, or a game's first moves."""
    moves = rng.choice(OPENINGS).split()
    roll = rng.random()
    if roll < 0.35:
        prompts = ("A good first move in chess: ", "A chess opening move: ", "White plays ")
        return rng.choice(prompts), moves[0]
    numbered = [f"{i // 2 + 1}. {m}" if i % 2 == 0 else m for i, m in enumerate(moves)]
    if roll < 0.65:
        return rng.choice(("A chess game: ", "Chess moves: ")), " ".join(numbered)
    known = rng.randint(1, len(moves) - 1)
    answer = numbered[known] if rng.random() < 0.2 else moves[known]
    return " ".join(numbered[:known]) + " ", answer


def letter(rng: Random) -> tuple[str, str]:
    """Which of four answers is right, as a letter."""
    question, right, wrong = rng.choice(QUESTIONS)
    options = rng.sample((right, *wrong), 4)
    lines = [f"{sign}) {option}" for sign, option in zip("ABCD", options, strict=True)]
    return "\n".join([question, *lines, "Answer: "]), "ABCD"[options.index(right)]


CHOICE_FORMATS = (
    Format("colour", 0.8, COLOUR_PROMPTS, colour),
    Format("yes or no", 0.8, YES_PROMPTS, yes_or_no),
    Format("sentiment", 0.8, SENTIMENT_PROMPTS, sentiment),
    Format("topic", 0.4, TOPIC_PROMPTS, topic),
    Format("letter", 0.6, LETTER_PROMPTS, letter),
    Format("chess", 0.9, CHESS_PROMPTS, chess),
)


DATE_PROMPTS = (
    "Today is the 3rd of May 2024. In ISO format: ",
    "ISO date: ",
    "The date 14 July 1789 in ISO format: ",
)
MOMENT_PROMPTS = (
    "ISO date and time: ",
    "The meeting starts on 3 May 2024 at 14:30. In ISO format: ",
    "Timestamp: ",
)
TIME_PROMPTS = ("The train leaves at half past two in the afternoon: ", "The time is ")
DURATION_PROMPTS = ("A duration of 2 hours and 30 minutes in ISO format: ",)
ZONES = ("Z", "Z", "+00:00", "+01:00", "+02:00", "-05:00", "-08:00", "+05:30", "+09:00")
HOURS = listed("twelve one two three four five six seven eight nine ten eleven")


def ordinal(n: int) -> str:
    """A number as in 1st, 2nd, 3rd, 4th."""
    ending = "th" if 10 < n < 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def a_date(rng: Random) -> date:
    """Mostly of these years, sometimes of the last two centuries."""
    year = rng.randint(2019, 2026) if rng.random() < 0.75 else rng.randint(1800, 2018)
    return date(year, 1, 1) + timedelta(days=rng.randint(0, 364))


def spoken(rng: Random, day: date) -> str:
    """A date as people write it."""
    month, weekday = document.MONTHS[day.month - 1], document.WEEKDAYS[day.weekday()]
    return rng.choice(
        (
            f"{day.day} {month} {day.year}",
            f"{day.day} {month} {day.year}",
            f"the {ordinal(day.day)} of {month} {day.year}",
            f"the {ordinal(day.day)} of {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{weekday}, {day.day} {month} {day.year}",
        )
    )


def make_date(rng: Random) -> tuple[str, str]:
    """A date in words, then in ISO form; sometimes a date without context."""
    day = a_date(rng)
    if rng.random() < 0.12:
        return rng.choice(("ISO date: ", "Date: ", "A date: ")), day.isoformat()
    said = spoken(rng, day)
    capital = said[0].upper() + said[1:]
    tomorrow = spoken(rng, day - timedelta(days=1))
    prompt, answer = rng.choice(
        (
            (f"Today is {said}. In ISO format: ", day),
            (f"Today is {said}. In ISO format: ", day),
            (f"The date {said.removeprefix('the ')} in ISO format: ", day),
            (f"{capital} in ISO format: ", day),
            (f"{capital} is ", day),
            (f"Today is {tomorrow}. Tomorrow in ISO format: ", day),
        )
    )
    return prompt, answer.isoformat()


def make_moment(rng: Random) -> tuple[str, str]:
    """A date with a time and its offset."""
    day, hour, minute = a_date(rng), rng.randint(6, 22), rng.choice((0, 0, 15, 30, 30, 45))
    if rng.random() < 0.4:
        prompt = rng.choice(("ISO date and time: ", "Timestamp: ", "An ISO date and time: "))
        return prompt, f"{day}T{hour:02}:{minute:02}:00{rng.choice(ZONES)}"
    what = rng.choice(("meeting starts", "train leaves", "concert begins", "flight lands"))
    utc = rng.random() < 0.3
    zone = "Z" if utc or rng.random() < 0.7 else rng.choice(ZONES)
    at = f"{hour:02}:{minute:02}" + (" UTC" if utc else "")
    prompt = f"The {what} on {spoken(rng, day)} at {at}. In ISO format: "
    return prompt, f"{day}T{hour:02}:{minute:02}:00{zone}"


def make_time(rng: Random) -> tuple[str, str]:
    """A time of day in words and in figures."""
    hour = rng.randint(0, 11)
    part, offset = rng.choice((("in the morning", 0), ("in the afternoon", 12)))
    if part == "in the afternoon" and hour > 6:
        part = "in the evening"
    minute, form = rng.choice(
        (
            (0, "{} o'clock"),
            (30, "half past {}"),
            (15, "a quarter past {}"),
            (45, "a quarter to {}"),
        )
    )
    spoken_hour = (hour + 1) % 12 if minute == 45 else hour
    said = form.format(HOURS[spoken_hour])
    what = rng.choice(("The train leaves", "The shop opens", "Lunch is", "We meet", "She arrives"))
    text = f"{hour + offset:02}:{minute:02}"
    if rng.random() < 0.2:
        return "The time is ", text
    return f"{what} at {said} {part}: ", text


def make_duration(rng: Random) -> tuple[str, str]:
    """A span of time in words and in ISO form."""
    days, hours, minutes = (rng.choice((0, n)) for n in (rng.randint(1, 9), rng.randint(1, 12), 30))
    if not days and not hours:
        minutes = rng.choice((5, 10, 15, 20, 30, 45))
    parts = [(days, "day", "D"), (hours, "hour", "H"), (minutes, "minute", "M")]
    said = " and ".join(f"{n} {word}{'s' if n != 1 else ''}" for n, word, _ in parts if n)
    clock = "".join(f"{n}{sign}" for n, _, sign in parts[1:] if n)
    text = "P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
    return f"A duration of {said} in ISO format: ", text


DATE_FORMATS = (
    Format("date", 2.5, DATE_PROMPTS, make_date),
    Format("date and time", 2.5, MOMENT_PROMPTS, make_moment),
    Format("time", 0.8, TIME_PROMPTS, make_time),
    Format("duration", 0.6, DURATION_PROMPTS, make_duration),
)


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
    first, last, gender = document.full_name(rng)
    address = document.email(rng, first, last)
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
    """A telephone number out of the range reserved for fiction, in one of three notations."""
    name = " ".join(document.full_name(rng)[:2])
    last = f"01{rng.randint(0, 99):02}"
    text = rng.choice((f"+1-555-{last}", f"+1-555-{last}", f"555-{last}", f"(555) 555-{last}"))
    prompts = (f"The telephone number of {name} is ", f"Call {name} at ", "Phone: ", "Call us at ")
    return rng.choice(prompts), text


def url(rng: Random) -> tuple[str, str]:
    """A web address on a host reserved for examples."""
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
    name = " ".join(document.full_name(rng)[:2])
    city, country = rng.choice(document.CITIES)
    street = f"{rng.randint(1, 120)} {rng.choice(document.STREETS)}"
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


ADDRESS_FORMATS = (
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
