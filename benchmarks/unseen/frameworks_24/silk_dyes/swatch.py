"""Prints a card of swatches: swatch.py CARD ATTEMPT. The printer's first answer of the day is that it is busy."""

import sys
import time
from pathlib import Path

BUSY = 75
ROWS = 12


def main():
    card, attempt = Path(sys.argv[1]), int(sys.argv[2])
    if attempt == 0:
        time.sleep(0.5)
        print("printer busy", file=sys.stderr)
        return BUSY
    with card.open("w") as out:
        for row in range(ROWS):
            time.sleep(0.2)
            out.write(f"{row} {row * 17 % 101}\n")
            out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
