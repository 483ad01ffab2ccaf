"""Chapters of old almanacs, made up from their stock of words, and the month that each paragraph is about."""

import random

MONTHS = 12
STOCK = 60
MOTIFS = 6


def vocabulary():
    rng = random.Random(1)
    syllables = ["ba", "co", "di", "fer", "gol", "hu", "ler", "mo", "nis", "pra", "tol", "ver"]
    return ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(STOCK + MONTHS * MOTIFS)]


def paragraph(words, month, rng, length=14):
    """Common words, and some from the motifs of the month."""
    chosen = []
    for _ in range(length):
        if rng.random() < 0.4:
            chosen.append(words[STOCK + month * MOTIFS + rng.randrange(MOTIFS)])
        else:
            chosen.append(words[rng.randrange(STOCK)])
    return " ".join(chosen)


def write_chapter(path, volume, number, paragraphs):
    rng = random.Random(volume * 100 + number)
    words = vocabulary()
    # a paragraph is about one month, and chapters mix them
    months = [rng.randrange(MONTHS) for _ in range(paragraphs)]
    path.write_text("\n".join(paragraph(words, month, rng) for month in months) + "\n")
    return months


# paragraphs of each chapter, volume by volume; the second volume ends with the tables of saints
VOLUMES = [
    [240, 256, 240, 272, 248],
    [256, 240, 264, 640, 240],
]
