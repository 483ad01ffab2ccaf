"""Finished plates: a finding chart as a portable greymap, drawn line by line."""
import math
import time


def brightness(x, y, sources):
    value = 0.0
    for sx, sy, flux in sources:
        value += flux * math.exp(-((x - sx) ** 2 + (y - sy) ** 2) / 18.0)
    return min(255, int(value))


def draw(path, sources, width=220, height=160, pause=0.12):
    with open(path, "w") as out:
        out.write(f"P2 {width} {height} 255\n")
        for y in range(height):
            out.write(" ".join(str(brightness(x, y, sources)) for x in range(width)) + "\n")
            out.flush()
            time.sleep(pause)
    return path
