"""Sheets of the survey: each process rasterises its own sheets; colours come from a legend that all sheets share."""

import json
import logging
import os
from pathlib import Path

import torch

log = logging.getLogger("survey")
CLASSES = 6
SIDE = 12


class Sheet:
    """One map sheet: a name and the seed of its field notes."""

    def __init__(self, number):
        self.number = number
        self.name = f"sheet_{number:02d}"

    def field_notes(self, count):
        g = torch.Generator().manual_seed(500 + self.number)
        kinds = torch.randint(0, CLASSES, (count,), generator=g)
        texture = torch.randn(count, SIDE * SIDE, generator=g)
        return kinds, texture


def load_legend(folder):
    """Colours of the classes; written when the first process asks for them."""
    path = Path(folder) / "legend.json"
    if not path.exists():
        g = torch.Generator().manual_seed(1)
        colours = torch.rand(CLASSES, SIDE * SIDE, generator=g).tolist()
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(colours))
        part.replace(path)
    return torch.tensor(json.loads(path.read_text()))


def rasterise(accelerator, sheet, folder, tiles):
    """Tiles and classes of a sheet. The main process goes first, so that the legend is there for the others."""
    with accelerator.main_process_first():
        legend = load_legend(folder)
    kinds, texture = sheet.field_notes(tiles)
    log.info("process %d has rasterised %s", accelerator.process_index, sheet.name)
    return legend[kinds] + 0.4 * texture, kinds


def read_survey(accelerator, sheets, folder, tiles, draw):
    """`draw` tiles from the sheets of this process, so that all processes have the same number of batches."""
    mine = [Sheet(n) for n in range(sheets)][accelerator.process_index :: accelerator.num_processes]
    parts = [rasterise(accelerator, sheet, folder, tiles) for sheet in mine]
    pixels = torch.cat([p for p, _ in parts])
    kinds = torch.cat([k for _, k in parts])
    g = torch.Generator().manual_seed(accelerator.process_index)
    chosen = torch.randint(0, len(kinds), (draw,), generator=g)
    return torch.utils.data.TensorDataset(pixels[chosen], kinds[chosen])
