"""Reads rows on stdin, and answers each one with its line of the chart."""
import json
import sys


def draw(row):
    strip = row.get("strip", [])
    cells = "".join(f"{value:+.4f} " for value in strip)
    return f"{row.get('step', 0):6d} | {cells}"


for line in sys.stdin:
    print(draw(json.loads(line)), flush=True)
