"""Contact sheets: from time to time, a process draws a frame with what was found in it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from lightning.pytorch.callbacks import Callback


class ContactSheet(Callback):
    """Draws the first frame of every `every`-th batch in the background.

    At most `ahead` drawings are under way, so that frames do not pile up in memory when the disk is slow.
    """

    def __init__(self, every=5, ahead=4):
        self.every = every
        self.free = threading.Semaphore(ahead)
        self.pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sheet")
        self.sheets = []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if batch_idx % self.every:
            return
        pictures, present = batch
        self.free.acquire()
        self.pool.submit(self.draw, trainer.global_step, pictures[0].clone(), present[0].clone())

    def draw(self, step, picture, present):
        cells = present.nonzero()
        if len(cells) == 0:
            return  # an empty lake is not worth a sheet
        time.sleep(0.02)
        rows = ["".join("#" if cell else "." for cell in row) for row in present.bool().tolist()]
        level = picture.mean(0)[present.bool()].mean().item()
        self.sheets.append((step, len(cells), round(level, 3), "\n".join(rows)))
        self.free.release()

    def on_fit_end(self, trainer, pl_module):
        self.pool.shutdown(wait=True)
