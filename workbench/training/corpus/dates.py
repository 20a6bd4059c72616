"""Dates, times of day, both together, and spans of time, as ISO 8601 writes them."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from workbench.training.corpus import words
from workbench.training.corpus.document import Format
from workbench.training.corpus.words import listed

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
    month, weekday = words.MONTHS[day.month - 1], words.WEEKDAYS[day.weekday()]
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
    """A date in words, then in ISO form; now and then a date out of the blue."""
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
    said = " and ".join(f"{n} {word}{'s' * (n != 1)}" for n, word, _ in parts if n)
    clock = "".join(f"{n}{sign}" for n, _, sign in parts[1:] if n)
    text = "P" + (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
    return f"A duration of {said} in ISO format: ", text


FORMATS = (
    Format("date", 2.5, DATE_PROMPTS, make_date),
    Format("date and time", 2.5, MOMENT_PROMPTS, make_moment),
    Format("time", 0.8, TIME_PROMPTS, make_time),
    Format("duration", 0.6, DURATION_PROMPTS, make_duration),
)
