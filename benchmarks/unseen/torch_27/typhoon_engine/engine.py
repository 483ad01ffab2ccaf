"""The wind engine, a program of its own: a line of JSON in, a line of JSON out. Stands for a Fortran binary."""
import json
import math
import sys


def main():
    basin = sys.argv[1]
    heat = {"atlantic": 26.0, "pacific": 29.5, "indian": 26.8}[basin]
    wind, steps = 18.0, 0
    for line in sys.stdin:
        order = json.loads(line)
        for sub in range(40):
            steps += 1
            push = 0.02 * (heat - 26.5) + 0.01 * order["steer"]
            wind = max(5.0, wind + push * math.cos(steps / 50.0))
            if heat > 29 and sub % 4 == 0:
                print(f"W{steps:07d} surface layer: sea temperature {heat:.1f} above the table, "
                      f"flux extrapolated", file=sys.stderr, flush=True)
        print(json.dumps({"wind": wind, "pressure": 1010 - wind * 0.8, "step": steps}), flush=True)


if __name__ == "__main__":
    main()
