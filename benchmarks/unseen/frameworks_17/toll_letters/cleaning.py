"""Letters to the toll office: cleaning and tokens."""

import re

SIGNATURE = re.compile(r"^((\w+[ .]?)+),?\s*(Mr|Mrs|Ms)?$")
AMOUNT = re.compile(r"\d+(?:[.,]\d\d)?")
WORD = re.compile(r"[a-z]+|<amount>")


def strip_signature(line):
    """Leaves out a line that consists of a name only."""
    return "" if SIGNATURE.match(line) else line


def clean(letter):
    lines = [strip_signature(line.strip()) for line in letter.splitlines()]
    text = " ".join(line for line in lines if line)
    return AMOUNT.sub("<amount>", text.lower())


class Vocabulary:
    """Hashes words into a table, so that no pass over the letters is needed."""

    def __init__(self, size):
        self.size = size

    def number(self, word):
        value = 7
        for letter in word:
            value = (value * 31 + ord(letter)) % 1_000_003
        return 1 + value % (self.size - 1)

    def encode(self, text, limit=24):
        numbers = [self.number(word) for word in WORD.findall(text)][:limit]
        return numbers + [0] * (limit - len(numbers))
