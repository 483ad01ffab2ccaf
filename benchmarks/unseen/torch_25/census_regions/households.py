"""Raw household files of a region and the program that turns them into tables."""
import json
import pathlib
import random

REGIONS = ("delta", "hills", "harbour")

# run by a process of its own, so that its memory is given back before training starts
CONVERTER = r"""
import json, pathlib, sys, time

raw, table = map(pathlib.Path, sys.argv[1:3])
rows = []
for line in raw.read_text().splitlines():
    household = json.loads(line)
    members = household["adults"] + household["children"]
    if members == 0:
        sys.exit("household %d has no members" % household["number"])
    rows.append([household["adults"], household["children"], household["rooms"] / members, household["income"]])
    time.sleep(0.001)
table.write_text(json.dumps(rows))
table.with_suffix(".done").touch()
"""


def write_raw(folder, region, households, seed):
    """The field workers' file, one household per line."""
    rng = random.Random(seed)
    lines = []
    for number in range(households):
        adults, children = rng.choice((1, 2, 2, 3)), rng.choice((0, 0, 1, 2, 3))
        if region == "harbour" and number == 1207:
            # a house boat whose owners moved out during the census
            adults = children = 0
        rooms = rng.randint(1, 6)
        income = round(8 + 9 * adults + 2 * rooms - children + rng.gauss(0, 2), 2)
        record = {"number": number, "adults": adults, "children": children, "rooms": rooms, "income": income}
        lines.append(json.dumps(record))
    path = pathlib.Path(folder) / f"{region}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path
