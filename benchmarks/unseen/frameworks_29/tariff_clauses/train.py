"""Chapter classifier for tariff clauses, DeepSpeed ZeRO 3 on the CPU."""
import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

from clauses import CHAPTERS, VOCAB, Clauses
from health import EmbeddingHealth

CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 1,
    "zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 0},
    "zero_force_ds_cpu_optimizer": False,
    "zero_allow_untested_optimizer": True,
    "steps_per_print": 1000,
}


class ChapterNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.body = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width), nn.GELU())
        self.head = nn.Linear(width, CHAPTERS)

    def forward(self, ids, labels):
        hidden = self.body(self.embed(ids).mean(1))
        return F.cross_entropy(self.head(hidden), labels)


def main():
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    torch.manual_seed(11)
    with deepspeed.zero.Init(config_dict_or_path=CONFIG):
        model = ChapterNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)

    data = Clauses(1200, seed=2)
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, batch_size=8, sampler=sampler, drop_last=True)
    health = EmbeddingHealth(engine, every=50, print_fn=print)

    step = 0
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for ids, labels in loader:
            loss = engine(ids, labels)
            engine.backward(loss)
            engine.step()
            time.sleep(0.05)
            step += 1
            health.after_step(step)
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {mean.item() / dist.get_world_size():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
