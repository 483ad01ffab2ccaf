"""Splits of the peat core collection: generated once, kept as .pt files, read by every process."""

import logging
import os
import tempfile
import time
from pathlib import Path

import torch
from accelerate.utils import gather_object
from torch.utils.data import TensorDataset

log = logging.getLogger("splits")
TAXA = 12
PROXIES = 20


def cache_dir():
    run = os.environ.get("TORCHELASTIC_RUN_ID", "single")
    path = Path(tempfile.gettempdir()) / f"peat-{run}"
    path.mkdir(exist_ok=True)
    return path


def count_slices(count, seed):
    """Pollen proxies of `count` slices and the dominant taxon of each."""
    g = torch.Generator().manual_seed(seed)
    profile = torch.randn(TAXA, PROXIES, generator=torch.Generator().manual_seed(0))
    taxon = torch.randint(TAXA, (count,), generator=g)
    return profile[taxon] + 0.8 * torch.randn(count, PROXIES, generator=g), taxon


class Splits:
    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.cache = cache_dir()

    def training(self, count):
        return TensorDataset(*count_slices(count, seed=1))

    def stored(self, name, count, seed):
        """A split out of the cache; whoever comes first fills it."""
        path = self.cache / f"{name}.pt"
        if not path.exists():
            time.sleep(1.0)  # the counts are exported by the lab's database
            torch.save(count_slices(count, seed), path)
        proxies, taxa = torch.load(path)
        self.check_same(name, proxies)
        return TensorDataset(proxies, taxa)

    def check_same(self, name, proxies):
        """Everybody must be looking at the same file."""
        sums = gather_object([round(proxies.sum().item(), 3)])
        if len(set(sums)) != 1:
            raise RuntimeError(f"split {name} differs between processes: {sums}")
        log.info("split %s: %d slices", name, len(proxies))
