"""Click-through data of one worker."""
import torch

N_ITEMS = 400


def cache_shard(folder, rank):
    """Copies the worker's shard, as large as its region, next to its snapshots."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "shard.bin").write_bytes(bytes((40_000, 230_000, 60_000)[rank]))


class Feed:
    def __init__(self, rank, attempt):
        self.rank, self.attempt = rank, attempt

    def batch(self, step):
        if (self.rank, self.attempt, step) == (2, 0, 27):
            raise ConnectionResetError("feature store: connection reset while reading row group 27")
        g = torch.Generator().manual_seed(step * 16 + self.rank)
        user = torch.randint(0, N_ITEMS, (12,), generator=g)
        item = torch.randint(0, N_ITEMS, (12,), generator=g)
        return user, item, ((user + item) % 3 == 0).float()
