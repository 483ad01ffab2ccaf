"""Sends sample sheets to the gallery share without holding up the training loop."""
import pathlib
import queue
import tempfile
import threading
import time

import torch


class Gallery:
    def __init__(self, enabled):
        self.enabled = enabled
        self.inbox = queue.Queue(maxsize=8)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mosaic-"))
        if enabled:
            self.porter = threading.Thread(target=self._carry, name="gallery-porter")
            self.porter.start()

    def pin(self, title, tiles):
        if self.enabled:
            self.inbox.put((title, tiles.detach().clone()))

    def _carry(self):
        while True:
            title, tiles = self.inbox.get()
            torch.save(tiles, self.folder / f"{title}.pt")
            time.sleep(0.05)
            self.inbox.task_done()

    def flush(self):
        self.inbox.join()
