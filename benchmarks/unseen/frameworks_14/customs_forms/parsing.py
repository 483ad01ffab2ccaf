"""The free-text line of a customs form: what is in the parcel, how much it weighs, what it is worth."""

import re
import zlib

import torch

LINE = re.compile(r"^(?P<goods>(?:[A-Za-z]+[ ,-]*)+): (?P<grams>\d+) g, (?P<worth>\d+) EUR$")
BUCKETS = 512


def parse(line):
    """Goods, grams and worth; a line that is not in the usual form is kept whole, without numbers."""
    match = LINE.match(line)
    if match is None:
        return line, 0, 0
    return match["goods"], int(match["grams"]), int(match["worth"])


def words(goods, length):
    ids = [1 + zlib.crc32(word.encode()) % (BUCKETS - 1) for word in goods.replace(",", " ").split()]
    return (ids + [0] * length)[:length]


class FormCollator:
    """Turns forms into a batch: words as hashed ids, the two numbers on a log scale."""

    def __init__(self, length=12):
        self.length = length

    def __call__(self, forms):
        ids, numbers, labels = [], [], []
        for form in forms:
            goods, grams, worth = parse(form["line"])
            ids.append(words(goods, self.length))
            numbers.append([float(grams), float(worth)])
            labels.append(form["held"])
        return {
            "ids": torch.tensor(ids),
            "numbers": torch.tensor(numbers).log1p(),
            "labels": torch.tensor(labels),
        }
