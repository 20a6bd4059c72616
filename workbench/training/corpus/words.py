"""The words documents are filled with: names, places, trades, things."""

from __future__ import annotations


def listed(text: str, mark: str | None = None) -> tuple[str, ...]:
    """The words of a text, or what stands between its marks."""
    return tuple(text.split(mark))


FEMALE = listed(
    "Ada Alice Amina Anna Beatriz Carla Charlotte Chloé Clara Diana Elena Emily Emma Eva Fatima "
    "Fiona Grace Hannah Helen Ingrid Isabel Jane Julia Karen Katherine Laura Leila Lina Linda Lucy "
    "Margaret Maria Marie Mary Maya Mei Mia Nadia Nina Nora Olga Olivia Priya Rosa Ruth Sara Sofia "
    "Sophie Susan Yuki Zoë"
)
MALE = listed(
    "Adam Ahmed Alan Albert Alexander Andrew Antonio Ben Bob Boris Carlos Charles Daniel David "
    "Dennis Edgar Edward Felix Frank George Hans Henry Hugo Ivan Jack James John José Karl Kenji "
    "Leo Liam Lucas Luis Mark Martin Max Michael Noah Oliver Omar Oscar Paul Peter Pierre Raj "
    "Robert Samuel Thomas Tom Victor Walter William Yusuf"
)
LAST = listed(
    "Adams Ali Anderson Babbage Baker Bauer Bell Bennett Brown Carter Chen Clark Collins Cooper "
    "Costa Cruz Davis Dubois Evans Fischer Fisher Foster García Gomez Gray Green Hall Harris Hill "
    "Hughes Ivanov Jackson Jensen Johnson Jones Kelly Kim King Klein Kowalski Kumar Larsen Lee "
    "Lewis Li Lopez Martin Miller Mitchell Moore Moreau Morgan Müller Murphy Nakamura Nguyen "
    "Novak Olsen Park Parker Patel Pérez Peterson Phillips Popov Price Quinn Reed Roberts Rossi "
    "Sanchez Santos Sato Schmidt Scott Silva Singh Stewart Suzuki Tanaka Taylor Thompson Torres "
    "Tran Turner Walker Wang Ward Watson Weber White "
    "Williams Wilson Wood Wright Young Zhang"
)
#: People everybody uses as an example: drawn more often than the rest.
FAMOUS = (
    ("Ada", "Lovelace", "female"),
    ("Alan", "Turing", "male"),
    ("Grace", "Hopper", "female"),
    ("John", "Smith", "male"),
    ("John", "Doe", "male"),
    ("Jane", "Doe", "female"),
    ("Jane", "Smith", "female"),
    ("Alice", "Johnson", "female"),
    ("Bob", "Brown", "male"),
    ("Noam", "Chomsky", "male"),
)
SYLLABLES = listed(
    "ba be bi bo da de di do fa fe ga ge ka ke ki ko la le li lo lu ma me mi mo na ne ni no pa pe "
    "ra re ri ro sa se si so ta te ti to va ve vi wa ya yo za zo"
)

#: City and country.
CITIES = (
    ("London", "United Kingdom"),
    ("Paris", "France"),
    ("Berlin", "Germany"),
    ("Madrid", "Spain"),
    ("Rome", "Italy"),
    ("Vienna", "Austria"),
    ("Zürich", "Switzerland"),
    ("Lisbon", "Portugal"),
    ("Oslo", "Norway"),
    ("Stockholm", "Sweden"),
    ("Copenhagen", "Denmark"),
    ("Dublin", "Ireland"),
    ("Prague", "Czech Republic"),
    ("Warsaw", "Poland"),
    ("Athens", "Greece"),
    ("Tokyo", "Japan"),
    ("Kyoto", "Japan"),
    ("Seoul", "South Korea"),
    ("Beijing", "China"),
    ("Mumbai", "India"),
    ("Sydney", "Australia"),
    ("Toronto", "Canada"),
    ("Montréal", "Canada"),
    ("New York", "USA"),
    ("Boston", "USA"),
    ("Chicago", "USA"),
    ("Seattle", "USA"),
    ("São Paulo", "Brazil"),
    ("Cairo", "Egypt"),
    ("Nairobi", "Kenya"),
)
#: Trade, least and greatest yearly salary in thousands, least age.
JOBS = (
    ("Engineer", 55, 120, 23),
    ("Software Engineer", 60, 140, 22),
    ("Doctor", 80, 180, 28),
    ("Teacher", 38, 70, 23),
    ("Nurse", 40, 75, 22),
    ("Lawyer", 70, 160, 26),
    ("Architect", 55, 110, 26),
    ("Scientist", 55, 115, 26),
    ("Mathematician", 50, 110, 25),
    ("Data Analyst", 50, 100, 22),
    ("Accountant", 45, 90, 23),
    ("Designer", 42, 85, 21),
    ("Journalist", 38, 75, 22),
    ("Librarian", 35, 60, 23),
    ("Pilot", 70, 150, 25),
    ("Chef", 32, 70, 20),
    ("Baker", 28, 45, 18),
    ("Carpenter", 32, 60, 19),
    ("Electrician", 38, 70, 20),
    ("Farmer", 28, 60, 19),
    ("Gardener", 26, 45, 18),
    ("Mechanic", 32, 60, 19),
    ("Musician", 25, 60, 19),
    ("Writer", 30, 80, 21),
    ("Photographer", 30, 65, 20),
    ("Translator", 35, 70, 23),
    ("Manager", 55, 130, 26),
    ("Professor", 70, 140, 32),
)
HOBBIES = listed(
    "reading chess hiking cooking painting swimming cycling gardening music photography dancing "
    "running yoga fishing travel knitting sailing poetry astronomy football tennis climbing"
)
TAGS = listed(
    "new sale home garden outdoor kitchen books music travel science history art food sport "
    "python data web mobile cloud security fast small green blue"
)
COLOURS = ("red", "orange", "yellow", "green", "blue", "indigo", "violet", "black", "white", "grey")
DOMAINS = ("example.com", "example.org", "example.net", "mail.example.com")
MONTHS = listed(
    "January February March April May June July August September October November December"
)
WEEKDAYS = listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
FRUIT = listed("apples pears oranges bananas cherries plums peaches lemons grapes melons")
ANIMALS = listed("cat dog horse cow sheep rabbit fox bear wolf owl duck goat")
STREETS = listed(
    "Main Street|High Street|Park Road|Church Lane|Mill Road|Station Road|Oak Avenue|Elm Street|"
    "River Road|King Street|Queen Street|Garden Street|Hill Road|School Lane|Lake View",
    "|",
)
