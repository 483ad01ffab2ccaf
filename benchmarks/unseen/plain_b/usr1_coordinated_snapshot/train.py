"""Session-based recommender; a snapshot is written whenever an operator signals any worker."""
import logging
import time

import torch
import torch.distributed as dist
from torch import nn

from archive import Archive
from notices import SnapshotRequests, operator

ITEMS, STEPS = 30_000, 150


class NextItem(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.items = nn.Embedding(ITEMS, dim)          # from the retrieval model, frozen
        self.items.weight.requires_grad_(False)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, session, candidates):
        _, h = self.rnn(self.items(session))
        return (self.items(candidates) * h[0][:, None]).sum(-1)


def sessions(rank):
    g = torch.Generator().manual_seed(rank)
    while True:
        start = torch.randint(0, ITEMS - 64, (6, 1), generator=g)
        walk = start + torch.randint(0, 8, (6, 7), generator=g).cumsum(1)
        yield walk[:, :-1], torch.cat([walk[:, -1:], torch.randint(0, ITEMS, (6, 9), generator=g)], dim=1)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [{rank}] %(message)s")
    torch.manual_seed(0)
    model = NextItem()
    trained = list(model.rnn.parameters())
    opt = torch.optim.SGD(trained, lr=0.05)
    requests = SnapshotRequests()
    archive = Archive(f"/tmp/next_item_{rank}.pt")
    if rank == 1:
        operator(after=4.0)
    for step, (session, candidates) in zip(range(STEPS), sessions(rank)):
        score = model(session, candidates)
        loss = nn.functional.cross_entropy(score, torch.zeros(len(score), dtype=torch.long))
        opt.zero_grad()
        loss.backward()
        for p in trained:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()
        time.sleep(0.05)
        if requests.agreed():
            logging.info("snapshot requested, step %d", step)
            if rank == 0:
                archive.submit(model.state_dict())
    if rank == 0:
        archive.submit(model.state_dict())
        archive.drain()
        logging.info("last snapshot is complete")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
