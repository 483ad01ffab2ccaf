import argparse
import tempfile

import deepspeed
import torch
import torch.distributed as dist
from torch import nn

from trainer import InstructTrainer

DS_CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 1,
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 1},
    "zero_force_ds_cpu_optimizer": False,
    "steps_per_print": 1_000_000,
}


class TinyCausalLM(nn.Module):
    def __init__(self, vocab=96, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.mix = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, labels):
        logits = self.head(self.mix(self.emb(ids))[0])
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


def instructions(rank, steps, batch=4, length=20):
    """Counting exercises: the answer continues the prompt, only the answer is scored."""
    gen = torch.Generator().manual_seed(400 + rank)
    for _ in range(steps):
        first = torch.randint(0, 60, (batch, 1), generator=gen)
        ids = (first + torch.arange(length + 1)) % 96
        labels = ids[:, 1:].clone()
        labels[:, :4] = -100
        yield ids[:, :-1], labels


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--log_steps", type=int, default=5)
    p.add_argument("--save_after", type=int, default=20)
    p.add_argument("--output_dir", default=None)
    p.add_argument("--local_rank", type=int, default=-1)
    return p.parse_args()


if __name__ == "__main__":
    args = parse()
    args.output_dir = args.output_dir or tempfile.mkdtemp(prefix="instruct_")
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(5)
    trainer = InstructTrainer(args, TinyCausalLM(), DS_CONFIG)
    trainer.fit(instructions(dist.get_rank(), args.steps))
    dist.destroy_process_group()
