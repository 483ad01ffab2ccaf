"""Descriptions of rune stones in the style of a museum's card index, generated."""
import random
from dataclasses import dataclass

import torch

PLACES = ("Birka", "Jelling", "Gotland", "Orkney", "Ribe", "Sigtuna")
STYLES = 5
SIGNS = 24


@dataclass
class Card:
    number: int
    period: str
    place: str
    signs: list
    style: int


class CardIndex:
    """The cards of one drawer, in the order in which they were filed."""

    def __init__(self, drawer, count, length=12):
        rng = random.Random(900 + drawer)
        self.cards = []
        for number in range(count):
            start = rng.randrange(700, 1080, 10)
            style = min(STYLES - 1, (start - 700) // 80)
            signs = [(rng.randrange(SIGNS) + 2 * style) % SIGNS for _ in range(length)]
            self.cards.append(Card(number, f"{start}-{start + rng.choice((10, 20, 30))}", rng.choice(PLACES), signs, style))
        if drawer == 1:
            # filed with the finds of the same mound
            self.cards[1130].period = "1060-1020"

    def batches(self, size):
        for begin in range(0, len(self.cards) - size + 1, size):
            yield self.cards[begin : begin + size]


def years(period):
    """'940-960' -> (940, 960)"""
    first, last = (int(part) for part in period.split("-"))
    if last < first:
        raise ValueError(f"period {period} ends before it begins")
    return first, last


def encode(cards):
    """Features of the signs, the place and the width of the period; the style is the target."""
    rows, styles = [], []
    for card in cards:
        first, last = years(card.period)
        counts = [0.0] * SIGNS
        for sign in card.signs:
            counts[sign] += 1.0
        place = [float(card.place == name) for name in PLACES]
        rows.append(counts + place + [(first - 890) / 100, (last - first) / 30])
        styles.append(card.style)
    return torch.tensor(rows), torch.tensor(styles)


FEATURES = SIGNS + len(PLACES) + 2
