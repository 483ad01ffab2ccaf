import tempfile
import time
from pathlib import Path

import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.utilities import rank_zero_only


class PlotReport(Callback):
    """A page for each plot of the reference vineyard: what moves its yield, band by band."""

    def __init__(self, plots, pages: int):
        self.plots = plots
        self.pages = pages

    @rank_zero_only
    def on_train_epoch_end(self, trainer, pl_module):
        folder = Path(tempfile.mkdtemp(prefix="plots-"))
        for number in range(self.pages):
            (folder / f"{number:03d}.txt").write_text(self.page(pl_module, number))

    def page(self, module, number: int) -> str:
        flight, tonnes = self.plots[number]
        lines = [f"plot {number}: {tonnes:.2f} t"]
        module.eval()
        with torch.no_grad():
            whole = module(flight.unsqueeze(0)).item()
            for band in range(flight.shape[0]):
                dark = flight.clone()
                dark[band] = 0
                lines.append(f"band {band}: {whole - module(dark.unsqueeze(0)).item():+.3f}")
        module.train()
        time.sleep(0.2)  # the page is drawn
        return "\n".join(lines)
