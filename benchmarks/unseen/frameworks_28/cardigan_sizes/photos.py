"""Article photos from the media server, at most a few requests at a time."""
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch

from orders import WITHDRAWN


def download(article):
    """The media server's client. None where the article has no photo any more (a 410)."""
    time.sleep(0.03)
    if article in WITHDRAWN:
        return None
    return torch.rand(3, 8, 8, generator=torch.Generator().manual_seed(article))


class PhotoShelf:
    """Loads photos in threads. The server blocks clients with more than `parallel` open requests."""

    def __init__(self, parallel=5):
        self.slots = threading.BoundedSemaphore(parallel)
        self.pool = ThreadPoolExecutor(8, thread_name_prefix="photo")
        self.grey = torch.full((3, 8, 8), 0.5)
        self.missing = 0

    def many(self, articles):
        return list(self.pool.map(self.one, articles))

    def one(self, article):
        self.slots.acquire()
        photo = download(article)
        if photo is None:
            self.missing += 1
            return self.grey
        # white balance: the studio's lamps differ
        photo = photo / photo.mean(dim=(1, 2), keepdim=True) * 0.5
        self.slots.release()
        return photo

    def close(self):
        self.pool.shutdown()
