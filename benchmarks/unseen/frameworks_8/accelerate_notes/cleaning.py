"""Normalisation of clinical free text before hashing it into ids."""
import re

HEADER = re.compile(r"^\s*(note|letter|lab)\s*:\s*", re.I)
SENTENCE = re.compile(r"^(\w+[\s,]?)*\.$")
DATES = re.compile(r"\b\d{1,2}\.\d{1,2}\.\d{2,4}\b")


def is_sentence(line):
    return SENTENCE.match(line) is not None


def normalise(raw):
    text = HEADER.sub("", raw)
    text = DATES.sub("<date>", text)
    kept = [line.strip() for line in text.split("\n") if is_sentence(line.strip())]
    return " ".join(kept) or text


def to_ids(text, vocab, length):
    ids = [1 + sum(map(ord, w)) % (vocab - 1) for w in text.split()][:length]
    return ids + [0] * (length - len(ids))
