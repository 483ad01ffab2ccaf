"""Summarisation toy model with Ray Train; documents are grouped by a token budget."""
import os
import tempfile
import time

import ray
import ray.train
import torch
import torch.distributed as dist
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch import nn


def document_lengths(rank, step):
    base = [60, 50, 70, 40, 66, 58]
    if rank == 2 and step >= 17:  # annual reports start here in this partition
        base = [60, 130, 170, 90, 66, 140]
    return base


def by_budget(lengths, budget):
    """Greedy groups of documents with at most `budget` tokens each."""
    group, used = [], 0
    for n in lengths:
        if group and used + n > budget:
            yield group
            group, used = [], 0
        group.append(n)
        used += n
    if group:
        yield group


class Encoder(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.emb = nn.Embedding(80, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.score = nn.Linear(dim, 1)

    def forward(self, docs):
        return torch.cat([self.score(self.gru(self.emb(d[None]))[1][-1]) for d in docs])


class Accumulator:
    def __init__(self, model, opt, budget):
        self.model, self.opt, self.budget = model, opt, budget

    def step(self, lengths, gen):
        self.opt.zero_grad()
        total = 0.0
        for group in by_budget(lengths, self.budget):
            docs = [torch.randint(0, 80, (n,), generator=gen) for n in group]
            target = torch.tensor([[n / 100] for n in group])
            loss = (self.model(docs) - target).pow(2).sum() / len(lengths)
            loss.backward()
            total += loss.item()
        self.opt.step()
        return total


def train_loop(config):
    torch.set_num_threads(1)
    ctx = ray.train.get_context()
    rank = ctx.get_world_rank()
    torch.manual_seed(0)
    model = prepare_model(Encoder())
    work = Accumulator(model, torch.optim.SGD(model.parameters(), lr=0.01), config["budget"])
    gen = torch.Generator().manual_seed(rank)
    loss = 0.0
    for step in range(config["steps"]):
        loss = work.step(document_lengths(rank, step), gen)
        time.sleep(0.02)
        if rank == 0 and step % 8 == 0:
            print(f"step {step} loss {loss:.4f}", flush=True)
    everyone = [None] * ctx.get_world_size()
    dist.all_gather_object(everyone, loss)
    ray.train.report({"loss": sum(everyone) / len(everyone)})


def main():
    ray.init(num_cpus=4, include_dashboard=False)
    trainer = TorchTrainer(
        train_loop,
        train_loop_config={"steps": 40, "budget": 200},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=3, use_gpu=False),
        run_config=RunConfig(storage_path=os.path.join(tempfile.gettempdir(), "ray_tokens"), name="toy"),
    )
    print(trainer.fit().metrics)


if __name__ == "__main__":
    main()
