"""Callbacks: a gallery of slabs for the buyers, and packed copies of the weights."""

import logging
import threading
import time
import zlib
from pathlib import Path

import torch
from lightning.pytorch.callbacks import Callback

log = logging.getLogger("gallery")


class Gallery(Callback):
    """After each epoch the main process draws pictures of what the filters see, and the others wait for them."""

    def __init__(self, folder, strokes=80, stroke=0.05):
        self.folder = Path(folder)
        self.strokes = strokes
        self.stroke = stroke

    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            started = time.monotonic()
            self.draw(pl_module.filters.weight.detach(), self.folder / f"epoch{trainer.current_epoch}.txt")
            log.info("gallery of epoch %d in %.1f s", trainer.current_epoch, time.monotonic() - started)
        trainer.strategy.barrier("gallery")

    def draw(self, filters, path):
        shades = " .:-=+*#%@"
        with path.open("w") as out:
            for i in range(self.strokes):
                picture = filters[i % len(filters), 0]
                levels = ((picture - picture.min()) / (picture.max() - picture.min() + 1e-6) * 9).long()
                out.write("\n".join("".join(shades[v] for v in row) for row in levels.tolist()) + "\n\n")
                out.flush()
                time.sleep(self.stroke)  # the plotter


class Packer(Callback):
    """Each process packs its copy of the weights in a thread; the last ones may be finished after the training."""

    def __init__(self, folder, rounds):
        self.folder = Path(folder)
        self.rounds = rounds
        self.threads = []

    def on_train_epoch_end(self, trainer, pl_module):
        weights = torch.nn.utils.parameters_to_vector(pl_module.parameters()).detach().numpy().tobytes()
        name = f"weights{trainer.global_rank}_{trainer.current_epoch}"
        thread = threading.Thread(target=self.pack, args=(weights, name), name=name)
        thread.start()
        self.threads.append(thread)

    def pack(self, weights, name):
        best = weights
        for attempt in range(self.rounds):
            packed = zlib.compress(weights, 1 + attempt % 9)
            best = min(best, packed, key=len)
            time.sleep(0.3)  # leaves the processor to the training
        log.info("%s: %d bytes packed into %d", name, len(weights), len(best))
