import random


class FrameBatchSampler:
    """Batches of utterances of similar length whose padded size stays below max_frames."""

    def __init__(self, lengths, max_frames, rank, world_size, seed=0, jitter=0.1):
        self.lengths = lengths
        self.max_frames = max_frames
        self.rank, self.world_size = rank, world_size
        self.seed, self.jitter = seed, jitter
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _pack(self, order):
        batches, cur, longest = [], [], 0
        for i in order:
            n = max(longest, self.lengths[i])
            if cur and n * (len(cur) + 1) > self.max_frames:
                batches.append(cur)
                cur, n = [], self.lengths[i]
            cur.append(i)
            longest = n
        if cur:
            batches.append(cur)
        return batches

    def __iter__(self):
        rng = random.Random(self.seed + self.epoch)
        noisy = [n * (1 + rng.uniform(-self.jitter, self.jitter)) for n in self.lengths]
        order = sorted(range(len(noisy)), key=noisy.__getitem__)
        usable = len(order) - len(order) % self.world_size
        batches = self._pack(order[:usable][self.rank::self.world_size])
        rng.shuffle(batches)
        yield from batches
