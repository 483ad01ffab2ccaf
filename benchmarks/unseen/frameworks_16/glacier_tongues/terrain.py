"""Terrain under a glacier tongue: heights by tile, renewed when a survey has been flown."""

import logging
import threading
import time

import torch

log = logging.getLogger("terrain")
TILES = 80


class Terrain:
    """Heights of a region's tiles. Readers and the renewal exclude each other."""

    def __init__(self, region, latency=0.05):
        self.region = region
        self.latency = latency
        self.lock = threading.Lock()
        self.version = 0
        self.heights = self.survey(range(TILES), version=0)

    def survey(self, tiles, version):
        g = torch.Generator().manual_seed(1000 * self.region + version)
        return {tile: torch.randn(6, generator=g) for tile in tiles}

    def height(self, tile):
        with self.lock:
            return self.heights[tile]

    def renew(self, tiles):
        """Reads the tiles that were flown again. Nobody should see half of a survey."""
        begin = time.monotonic()
        with self.lock, torch.no_grad():
            self.version += 1
            fresh = self.survey(tiles, self.version)
            for tile in tiles:
                time.sleep(self.latency)
                self.heights[tile] = fresh[tile]
        log.info("region %d: %d tiles in %.1f s", self.region, len(tiles), time.monotonic() - begin)

    def renew_in_background(self, tiles):
        """Training goes on meanwhile with what has been read already."""
        thread = threading.Thread(target=self.renew, args=(list(tiles),), daemon=True)
        thread.start()
        return thread
