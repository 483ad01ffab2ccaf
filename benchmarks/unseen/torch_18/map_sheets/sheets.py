"""Tiles of map sheets, read by the workers of a DataLoader."""
import multiprocessing
import time

import torch
from torch.utils.data import IterableDataset, get_worker_info


class Sheets(IterableDataset):
    """Batches of tiles, sheet by sheet; worker k of n reads the sheets k, k + n, k + 2n and so on.

    Sheets are large. The workers begin each of theirs together, so that there are never more than n of them
    in the page cache, and the disk reads from n places only.
    """

    def __init__(self, tiles, batch, size, workers, seed):
        self.tiles = tiles
        self.batch = batch
        self.size = size
        self.seed = seed
        self.turn = multiprocessing.Barrier(workers)

    def read(self, sheet):
        """The tiles of a sheet and the share of forest on each of them."""
        g = torch.Generator().manual_seed(self.seed * 1000 + sheet)
        for _ in range(self.tiles[sheet] // self.batch):
            forest = torch.rand(self.batch, 1, 1, 1, generator=g)
            tiles = torch.rand(self.batch, 1, self.size, self.size, generator=g)
            time.sleep(0.02)
            yield (tiles < forest).float(), forest.reshape(-1)

    def __iter__(self):
        worker = get_worker_info()
        for sheet in range(worker.id, len(self.tiles), worker.num_workers):
            self.turn.wait()
            yield from self.read(sheet)


def survey_of(rank):
    """Tiles on the sheets of three surveys; they have as many tiles altogether."""
    whole = [64] * 8
    with_margin = [64] * 7 + [32, 32]
    return [whole, with_margin, whole][rank % 3]
