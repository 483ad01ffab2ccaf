"""Splits the words of a chapter at their hyphens: one line per paragraph, syllables separated by spaces.

Words of the list of exceptions are split as given there.
"""

import argparse
import re
import sys

SYLLABLE = re.compile(r"[^aeiou]*[aeiou](?:[^aeiou](?=[^aeiou]|$))?")


EXCEPTIONS = {"vernis": "ver\u00b7nis", "golmo": "gol\u00b7mo", "hutol": "hu\u00b7tol"}


def split(word):
    if word in EXCEPTIONS:
        return EXCEPTIONS[word]
    return "\u00b7".join(SYLLABLE.findall(word)) or word


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chapter")
    parser.add_argument("--summary", action="store_true", help="tell the number of lines on the standard error")
    args = parser.parse_args()
    lines = 0
    with open(args.chapter, encoding="utf-8") as chapter:
        for line in chapter:
            print(" ".join(split(word) for word in line.split()))
            lines += 1
    if args.summary:
        print(f"{lines} lines", file=sys.stderr)


if __name__ == "__main__":
    main()
