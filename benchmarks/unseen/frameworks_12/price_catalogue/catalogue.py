"""Prices by article, from a table that is read again now and then while the training goes on."""

import threading
import time

import torch


class Catalogue:
    def __init__(self, articles, region):
        self.region = region
        self.articles = articles
        self.mutex = threading.RLock()
        self.version = 0
        self.prices = self._read(0)

    def _read(self, version):
        g = torch.Generator().manual_seed(100 * self.region + version)
        return torch.rand(self.articles, generator=g)

    def price(self, article):
        with self.mutex:
            return self.prices[article]

    def refresh(self):
        """Read the newest table, table by table, without a version in between that is half old."""
        self.mutex.acquire()
        try:
            time.sleep(3.5)
            self.version += 1
            self.prices = self._read(self.version)
        finally:
            self.mutex.release()

    def refresh_in_background(self):
        thread = threading.Thread(target=self.refresh, name="catalogue", daemon=True)
        thread.start()
        return thread
