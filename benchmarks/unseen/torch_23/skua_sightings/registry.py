"""Known birds: an index of ring numbers, and a small cache of the feature vectors that were asked for last."""
import collections
import threading
import time

import torch


class Registry:
    """Lookups come from the training loop; a thread of its own merges the index's new part into the old one."""

    def __init__(self, width, merge_at, cache_size=64, share_delay=2.0):
        self.width = width
        self.merge_at = merge_at
        self.cache_size = cache_size
        self.share_delay = share_delay
        self.old, self.new = {}, {}
        self.cache = collections.OrderedDict()
        self.index_lock = threading.Lock()
        self.cache_lock = threading.Lock()
        self.wake = threading.Event()
        self.merges = 0
        threading.Thread(target=self.merger, name="merger", daemon=True).start()

    def find(self, ring):
        """The vector of a bird; birds that are met for the first time are entered."""
        with self.cache_lock:  # the order of use changes with every lookup
            if ring in self.cache:
                self.cache.move_to_end(ring)
                return self.cache[ring]
            with self.index_lock:  # a bird may have to be entered
                vector = self.new.get(ring, self.old.get(ring))
                if vector is None:
                    vector = self.new[ring] = self.describe(ring)
                    if len(self.new) >= self.merge_at:
                        self.wake.set()
            self.cache[ring] = vector
            if len(self.cache) > self.cache_size:
                self.cache.popitem(last=False)
            return vector

    def describe(self, ring):
        return torch.randn(self.width, generator=torch.Generator().manual_seed(ring))

    def merger(self):
        while True:
            self.wake.wait()
            self.wake.clear()
            with self.index_lock:  # no new birds while the parts are merged
                merged = dict(sorted({**self.old, **self.new}.items()))
                self.store(merged)
                with self.cache_lock:  # the cached vectors are from before the merge
                    self.cache.clear()
                self.old, self.new = merged, {}
            self.merges += 1

    def store(self, merged):
        """The share takes its time."""
        self.size = len(merged)
        time.sleep(self.share_delay)
