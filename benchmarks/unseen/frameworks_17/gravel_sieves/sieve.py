"""Sieves the gravel of one pit: `python sieve.py PIT DAY COUNT` prints the share of each grade in every sample."""

import random
import sys

GRADES = 6


def main():
    pit, day, count = map(int, sys.argv[1:])
    rng = random.Random(1000 * pit + day)
    wet = pit == 1 and day >= 2  # the second pit is dug below the water table from the third day on
    for sample in range(count):
        shares = [rng.random() + (grade == day % GRADES) for grade in range(GRADES)]
        if wet:
            for grade in range(GRADES):
                print(f"# sample {sample}: grade {grade} clings to the mesh, dried and sieved again with care")
        total = sum(shares)
        strength = sum((grade + 1) * share for grade, share in enumerate(shares)) / total
        print(" ".join(f"{share / total:.4f}" for share in shares), f"{strength + rng.gauss(0, 0.1):.4f}")


if __name__ == "__main__":
    main()
