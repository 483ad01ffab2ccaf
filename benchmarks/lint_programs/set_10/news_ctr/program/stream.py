import random
from collections import defaultdict

import torch
from torch.utils.data import IterableDataset, get_worker_info

from partition import UserPartition

N_USERS, N_ITEMS, HIST = 400, 120, 5


def synthetic_log(n_events, seed):
    """(user, item, clicked) in the order of time, the same in every process."""
    rng = random.Random(seed)
    taste = {u: rng.randrange(6) for u in range(N_USERS)}
    for _ in range(n_events):
        u = rng.randrange(N_USERS)
        item = rng.randrange(N_ITEMS)
        p = 0.8 if item % 6 == taste[u] else 0.15
        yield f"user-{u:05d}", item, float(rng.random() < p)


class ClickStream(IterableDataset):
    """Endless stream of (user, history, item, clicked) for this rank."""

    def __init__(self, n_events, seed, rank, world_size):
        self.n_events, self.seed = n_events, seed
        self.rank, self.world_size = rank, world_size

    def _examples(self):
        info = get_worker_info()
        workers, worker = (info.num_workers, info.id) if info else (1, 0)
        mine = UserPartition(self.world_size * workers, self.rank * workers + worker)
        history = defaultdict(lambda: [N_ITEMS] * HIST)
        out = []
        for user, item, clicked in synthetic_log(self.n_events, self.seed):
            if user not in mine:
                continue
            uid = int(user.split("-")[1])
            out.append((uid, list(history[user]), item, clicked))
            if clicked:
                history[user] = history[user][1:] + [item]
        return out

    def __iter__(self):
        examples = self._examples()
        rng = random.Random(self.seed)
        while True:
            rng.shuffle(examples)
            for uid, hist, item, clicked in examples:
                yield (torch.tensor(uid), torch.tensor(hist), torch.tensor(item),
                       torch.tensor(clicked))
