"""Support tickets: a shared trunk (data parallel) and one expert for each topic."""
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from replicas import ExpertReplicas

TOPICS = ["billing", "delivery", "firmware"]
BATCH = 64
STEPS = 400
WORDS = 300


class TicketShard:
    """A region's tickets in order of time."""

    USUAL = (36, 18, 10)
    LAUNCH = (8, 14, 42)

    def __init__(self, region, launch_at=None):
        self.region = region
        self.launch_at = launch_at

    def batch(self, step):
        mix = self.USUAL if self.launch_at is None or step < self.launch_at else self.LAUNCH
        g = torch.Generator().manual_seed(1000 * step + len(self.region))
        topics = torch.repeat_interleave(torch.arange(3), torch.tensor(mix))
        topics = topics[torch.randperm(BATCH, generator=g)]
        words = torch.randint(0, WORDS // 3, (BATCH, 12), generator=g) + topics[:, None] * (WORDS // 3)
        urgency = (words.sum(1) + topics) % 4
        return words, topics, urgency


SHARDS = [TicketShard("emea"), TicketShard("americas"), TicketShard("apac", launch_at=150)]


class TopicModel(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.EmbeddingBag(WORDS, dim)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 40), nn.GELU(), nn.Linear(40, dim)) for _ in TOPICS
        )
        self.head = nn.Linear(dim, 4)

    def trunk(self):
        return [*self.embed.parameters(), *self.head.parameters()]

    def forward(self, words, topics):
        h = self.embed(words)
        mixed = torch.zeros_like(h)
        for eid, expert in enumerate(self.experts):
            rows = (topics == eid).nonzero().squeeze(1)
            mixed = mixed.index_add(0, rows, expert(h[rows]))
        return self.head(h + mixed)


def average(params, world):
    flat = torch.cat([p.grad.reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat /= world
    at = 0
    for p in params:
        p.grad.copy_(flat[at : at + p.numel()].view_as(p))
        at += p.numel()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(11)
    model = TopicModel()
    replicas = ExpertReplicas(model.experts, home=[e % world for e in range(len(TOPICS))])
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    shard = SHARDS[rank % len(SHARDS)]

    for step in range(STEPS):
        words, topics, urgency = shard.batch(step)
        time.sleep(0.025)  # the tokenizer service
        replicas.observe(topics)
        opt.zero_grad()
        loss = F.cross_entropy(model(words, topics), urgency)
        loss.backward()
        average(model.trunk(), world)
        opt.step()
        replicas.after_step(step)
        if rank == 0 and step % 25 == 0:
            print(f"step {step} loss {loss.item():.3f} published {replicas.published}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
