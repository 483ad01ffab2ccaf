"""The gloss tool of the dialect atlas, one line in, one line of numbers out. Runs as a child process."""
import sys

KNOWN = {w: i for i, w in enumerate("the hen gate runs over old hill and sings by water".split(), 1)}


def main():
    for line in sys.stdin:
        numbers = []
        for position, word in enumerate(line.split()):
            if word not in KNOWN:
                print(f"glosser: warning: no entry for {word!r} at position {position} of {line.strip()!r}, using 0",
                      file=sys.stderr)
            numbers.append(KNOWN.get(word, 0))
        print(*numbers, flush=True)


if __name__ == "__main__":
    main()
