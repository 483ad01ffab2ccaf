import random


class FrameBatchSampler:
    """Group utterances of similar length until `batch_frames` padded frames are reached.

    Every process computes the same list of batches (same seed, same epoch) and takes its share.
    """

    def __init__(self, lengths, batch_frames, bucket_width=40, rank=0, world_size=1, seed=0,
                 shuffle=True):
        self.lengths = lengths
        self.batch_frames = batch_frames
        self.bucket_width = bucket_width
        self.rank = rank
        self.world_size = world_size
        self.seed = seed
        self.shuffle = shuffle
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def _batches(self):
        order = list(range(len(self.lengths)))
        rng = random.Random(self.seed + self.epoch)
        if self.shuffle:
            rng.shuffle(order)
        order.sort(key=lambda i: self.lengths[i] // self.bucket_width)

        batches, current, longest = [], [], 0
        for i in order:
            longest_new = max(longest, self.lengths[i])
            if current and longest_new * (len(current) + 1) > self.batch_frames:
                batches.append(current)
                current, longest_new = [], self.lengths[i]
            current.append(i)
            longest = longest_new
        if current:
            batches.append(current)
        if self.shuffle:
            rng.shuffle(batches)
        return batches

    def __iter__(self):
        batches = self._batches()
        return iter(batches[self.rank::self.world_size])
