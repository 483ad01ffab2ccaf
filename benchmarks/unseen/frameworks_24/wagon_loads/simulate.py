"""Braking distance of a wagon: reads [speed, slope, wear, wet, load], writes metres."""

import json
import logging
import sys

log = logging.getLogger("simulate")


def simulate(speed, slope, wear, wet, load):
    if load > 1.0:
        log.warning(
            "load %.3f is beyond the plate of the wagon; the table of the brake blocks ends at 1.000, "
            "so the last row is continued in a straight line (speed %.3f, slope %.3f, wear %.3f)",
            load, speed, slope, wear,
        )
    grip = (1.0 - 0.4 * wet) * (1.0 - 0.3 * wear) / (0.7 + 0.3 * load)
    return 2.0 * speed * speed / grip + slope


def main():
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for line in sys.stdin:
        print(f"{simulate(*json.loads(line)):.6f}", flush=True)


if __name__ == "__main__":
    main()
