"""Client of the nightly stock snapshot, which arrives page by page."""
import queue
import threading
import time

import torch


class Feed(threading.Thread):
    def __init__(self, pages, pause):
        super().__init__(daemon=True)
        self.pages, self.pause = pages, pause
        self.box = queue.Queue()

    def run(self):
        g = torch.Generator().manual_seed(9)
        for _ in range(self.pages):
            time.sleep(self.pause)
            self.box.put(torch.randn(4, 12, generator=g))
        self.box.put(None)


def snapshot(pages=11, pause=2.3):
    feed = Feed(pages, pause)
    feed.start()
    got = []
    while True:
        try:
            page = feed.box.get(timeout=0.5)
        except queue.Empty:
            continue
        if page is None:
            return torch.cat(got)
        got.append(page)
