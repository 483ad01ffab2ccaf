"""Previews of woven patterns, drawn by a process of its own so that training does not wait for them."""

import multiprocessing
import pathlib
import tempfile

import torch
from lightning.pytorch.callbacks import Callback


def draw(pattern, path):
    """Write a pattern as a portable graymap."""
    values = (pattern.clamp(0, 1) * 255).to(torch.uint8)
    height, width = values.shape
    with open(path, "wb") as out:
        out.write(b"P5 %d %d 255\n" % (width, height))
        out.write(bytes(values.flatten().tolist()))


def drawing_process(queue, folder, sheets):
    """Draw sheets as they come in, until the album is full."""
    for number in range(sheets):
        step, pattern = queue.get()
        draw(torch.tensor(pattern), folder / f"{number:03d}_step{step}.pgm")


class Album(Callback):
    """Every `every` steps the current reconstruction is handed to the drawing process.

    The queue is unbounded, so the training loop is never held up by drawing.
    """

    def __init__(self, every=5, sheets=12):
        self.every = every
        self.sheets = sheets
        self.folder = None
        self.queue = None
        self.process = None

    def on_fit_start(self, trainer, pl_module):
        if not trainer.is_global_zero:
            return
        context = multiprocessing.get_context("spawn")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="album_"))
        self.queue = context.Queue()
        self.process = context.Process(target=drawing_process, args=(self.queue, self.folder, self.sheets))
        self.process.start()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if self.queue is None or trainer.global_step % self.every:
            return
        with torch.no_grad():
            pattern = pl_module(batch[0][:1])[0].reshape(pl_module.side, pl_module.side)
        # plain lists: tensors would be passed through shared memory
        self.queue.put((trainer.global_step, pattern.tolist()))

    def on_fit_end(self, trainer, pl_module):
        if self.process is None:
            return
        self.process.join()
        drawn = sorted(self.folder.glob("*.pgm"))
        print(f"{len(drawn)} sheets in the album", flush=True)
        for sheet in drawn:
            sheet.unlink()
        self.folder.rmdir()
