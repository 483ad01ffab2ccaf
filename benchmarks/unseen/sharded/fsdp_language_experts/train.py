"""Intent classification over three languages with language experts, FSDP2 over all ranks."""
import itertools
import time

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from corpus import LANGUAGES, Shard
from experts import LanguageExperts

STEPS = 150


class IntentModel(nn.Module):
    def __init__(self, vocab=200, dim=32, classes=5):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.experts = LanguageExperts(dim, LANGUAGES)
        self.norm = nn.LayerNorm(dim)
        self.classify = nn.Linear(dim, classes)

    def forward(self, ids, lang):
        return self.classify(self.norm(self.experts(self.embed(ids), lang)))


def shard_model(model, mesh):
    for expert in model.experts.experts:
        fully_shard(expert, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


def run():
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(11)
    model = shard_model(IntentModel(), mesh)
    optim = torch.optim.Adam(model.parameters(), lr=1e-3)

    seen = 0
    for step, (ids, lang, label) in enumerate(itertools.islice(Shard(rank), STEPS)):
        loss = nn.functional.cross_entropy(model(ids, lang), label)
        loss.backward()
        optim.step()
        optim.zero_grad()
        seen += len(label)
        if step % 20 == 0:
            print(f"[{rank}] step {step} loss {loss.item():.3f} sentences {seen}", flush=True)
        time.sleep(0.03)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    run()
    dist.destroy_process_group()
