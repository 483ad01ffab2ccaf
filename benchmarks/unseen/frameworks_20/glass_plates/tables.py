"""Tables of stars on photographic plates: each process measures its part of every plate."""

import json
import logging
import pathlib
import time

import torch

log = logging.getLogger("plates")


class Emulsion:
    """The curve from blackening to brightness; it is kept in a file for the whole job."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "emulsion.json"
        self.slope, self.fog = 1.0, 0.0

    def load(self):
        if self.path.exists():
            values = json.loads(self.path.read_text())
            self.slope, self.fog = values["slope"], values["fog"]

    def fit(self, blackening):
        self.slope = 1.0 / blackening.std().item()
        self.fog = blackening.quantile(0.02).item()
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps({"slope": self.slope, "fog": self.fog}))
        part.replace(self.path)


class PlateTables:
    """Measures plates one after the other and keeps the rows of this process."""

    def __init__(self, accelerator, folder, fog_limit=0.25):
        self.accelerator = accelerator
        self.emulsion = Emulsion(folder)
        self.fog_limit = fog_limit
        self.rows = []

    def scan(self, plate, stars):
        """Blackening of the stars in this process' strip of the plate."""
        strip = self.accelerator.process_index
        g = torch.Generator().manual_seed(1000 * plate + strip)
        time.sleep(0.35)  # the stage moves along the strip
        blackening = torch.rand(stars, generator=g)
        if (plate, strip) == (7, 2):
            blackening = 0.5 + 0.5 * blackening  # light got into the holder at this edge
        return blackening

    def measure(self, plate, stars):
        blackening = self.scan(plate, stars)
        if blackening.min() > self.fog_limit:
            self.renew(blackening)
        self.rows.append((blackening - self.emulsion.fog) * self.emulsion.slope)
        return len(self.rows[-1])

    def renew(self, blackening):
        """Fits the curve anew. The main process writes it first, the others find it then."""
        log.info("strip %d: fitting the emulsion", self.accelerator.process_index)
        with self.accelerator.main_process_first():
            self.emulsion.load()
            self.emulsion.fit(blackening)

    def table(self):
        return torch.cat(self.rows)
