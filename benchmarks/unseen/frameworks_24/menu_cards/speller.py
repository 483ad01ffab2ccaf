"""Normalises old spellings: reads a line, writes a line."""

import sys

RULES = [("ſ", "s"), ("ck", "k"), ("gh", "f"), ("ye", "the"), ("oe", "e")]


def normalise(word):
    for old, new in RULES:
        word = word.replace(old, new)
    return word


def main():
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        print(" ".join(normalise(word) for word in words), flush=True)


if __name__ == "__main__":
    main()
