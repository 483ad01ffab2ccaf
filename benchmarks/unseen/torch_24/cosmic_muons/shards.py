"""Shards of muon tracks, unpacked a little ahead of the reader into a cache of limited size."""
import pathlib
import threading
import time

import torch


class ShardCache:
    """Unpacks shards in their order; the reader's position is a file, as the reader is another process.

    Two shards at most are unpacked ahead. What has been unpacked first is removed first when the cache
    has become too large.
    """

    AHEAD = 2

    def __init__(self, folder, sizes, make, limit):
        self.folder = pathlib.Path(folder)
        self.sizes = sizes
        self.make = make
        self.limit = limit
        self.position = self.folder / "position"
        self.stopped = threading.Event()

    def path(self, number):
        return self.folder / f"shard-{number:04d}.pt"

    def start(self):
        self.position.write_text("0")
        threading.Thread(target=self._unpack, name="unpack", daemon=True).start()

    def stop(self):
        self.stopped.set()

    def _reader(self):
        text = self.position.read_text()
        return int(text) if text else 0

    def _unpack(self):
        for number, size in enumerate(self.sizes):
            while number > self._reader() + self.AHEAD and not self.stopped.wait(0.02):
                pass
            if self.stopped.is_set():
                return
            part = self.path(number).with_suffix(".part")
            torch.save(self.make(number, size), part)
            part.rename(self.path(number))
            self._evict()

    def _evict(self):
        shards = sorted(self.folder.glob("shard-*.pt"))
        used = {shard: shard.stat().st_size for shard in shards}
        while sum(used.values()) > self.limit:
            oldest = min(used)
            oldest.unlink()
            del used[oldest]

    def load(self, number):
        """Called by the reader: waits until the shard has been unpacked."""
        while not self.path(number).exists():
            time.sleep(0.05)
        shard = torch.load(self.path(number))
        self.position.write_text(str(number))
        return shard
