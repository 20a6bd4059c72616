"""One answer out of a few: colours, yes or no, sentiment, topics, chess moves."""

from __future__ import annotations

from random import Random

from workbench.training.corpus.document import Format
from workbench.training.corpus.words import listed

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


FORMATS = (
    Format("colour", 0.8, COLOUR_PROMPTS, colour),
    Format("yes or no", 0.8, YES_PROMPTS, yes_or_no),
    Format("sentiment", 0.8, SENTIMENT_PROMPTS, sentiment),
    Format("topic", 0.4, TOPIC_PROMPTS, topic),
    Format("letter", 0.6, LETTER_PROMPTS, letter),
    Format("chess", 0.9, CHESS_PROMPTS, chess),
)
