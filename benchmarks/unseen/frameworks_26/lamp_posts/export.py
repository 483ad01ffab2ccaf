"""Writes the table for the maintenance crew. Run as a program; the share takes a line at a time."""

import argparse
import os
import sys
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--first-try", action="store_true")
    args = parser.parse_args()
    with open(args.out, "w") as out:
        for line in range(args.lines):
            out.write(f"{line};{line * 37 % 100}\n")
            out.flush()
            os.fsync(out.fileno())
            time.sleep(0.1)
            if args.first_try and line == 15:
                sys.exit("share: stale handle")


if __name__ == "__main__":
    main()
