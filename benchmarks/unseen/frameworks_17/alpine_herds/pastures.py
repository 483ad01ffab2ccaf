"""Where the herds graze, and the grass there: one growth table per pasture."""

import logging
import os
import tempfile

import torch

log = logging.getLogger(__name__)

DAYS = 120


class GrassTables:
    """Growth tables by pasture.

    A table is integrated once by the main process, which leaves it in the cache folder, and read from there by the
    others. Tables that are in memory are not read again.
    """

    def __init__(self, accelerator, folder=None):
        self.accelerator = accelerator
        self.folder = folder or os.path.join(tempfile.gettempdir(), f"grass-{os.environ.get('MASTER_PORT', '0')}")
        os.makedirs(self.folder, exist_ok=True)
        self.tables = {}

    def path(self, pasture):
        return os.path.join(self.folder, f"{pasture}.pt")

    def integrate(self, pasture):
        """Logistic growth with the warmth of a season; finer steps than the model needs."""
        g = torch.Generator().manual_seed(sum(map(ord, pasture)))
        warmth = 8 + 6 * torch.sin(torch.linspace(0, 3.1, DAYS)) + torch.randn(DAYS, generator=g)
        grass, table = torch.tensor(0.1), []
        for day in range(DAYS):
            for _ in range(20):
                grass = grass + 0.05 * 0.02 * warmth[day] * grass * (1 - grass)
            table.append(grass)
        return torch.stack(table)

    def table(self, pasture):
        if pasture in self.tables:
            return self.tables[pasture]
        with self.accelerator.main_process_first():
            if not os.path.exists(self.path(pasture)):
                partial = f"{self.path(pasture)}.{os.getpid()}"
                torch.save(self.integrate(pasture), partial)
                os.replace(partial, self.path(pasture))
            self.tables[pasture] = torch.load(self.path(pasture))
        log.info("table of %s ready", pasture)
        return self.tables[pasture]


# the summer of each herd: three pastures, from the valley upwards
SUMMERS = {
    "Brienz": ["Planalp", "Greesgi", "Rothorn"],
    "Meiringen": ["Kaltenbrunn", "Maegisalp", "Planplatten"],
    "Guttannen": ["Handegg", "Handegg", "Gelmer"],
}
