"""Raw records of buoys, cut into parts before the training begins.

The first process cuts; the others wait for the mark that their part is complete.
"""
import json
import logging
import os
import pathlib
import random
import shutil
import tempfile
import time

log = logging.getLogger("buoys")

# (buoy, sea, share of readings that pass the control)
FLEET = [
    ("A12", "north", 0.9),
    ("A17", "north", 0.8),
    ("B03", "inner", 0.95),
    ("B04", "inner", 0.7),
    ("C21", "outer", 0.0),
    ("C22", "outer", 0.0),
]
SEAS = ["north", "inner", "outer"]


def workspace():
    """A folder of this run, the same for all processes of the host."""
    return pathlib.Path(tempfile.gettempdir()) / f"buoys-{os.environ['MASTER_PORT']}"


def readings(buoy, share, count):
    """Hourly (wind, pressure, temperature, height), those that pass the control."""
    source = random.Random(buoy)
    for _ in range(count):
        wind, pressure, temperature = source.gauss(0, 1), source.gauss(0, 1), source.gauss(0, 1)
        height = 0.7 * wind + 0.2 * wind * wind - 0.3 * pressure + source.gauss(0, 0.05)
        if source.random() < share:
            yield [wind, pressure, temperature, height]


def cut(folder, count):
    """Writes the part of each sea, and a mark next to it when it is complete."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    parts = {}
    for buoy, sea, share in FLEET:
        for row in readings(buoy, share, count):
            parts.setdefault(sea, []).append(row)
    for sea, rows in parts.items():
        path = folder / f"part-{SEAS.index(sea)}.json"
        path.write_text(json.dumps(rows))
        path.with_suffix(".ready").touch()
        log.info("%s: %d readings", sea, len(rows))


def load_part(folder, number, interval=0.25):
    """The rows of a part, as soon as it has been cut."""
    path = folder / f"part-{number}.json"
    while not path.with_suffix(".ready").exists():
        time.sleep(interval)
    return json.loads(path.read_text())
