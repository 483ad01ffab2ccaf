"""Low-rank finetuning of a small frozen encoder with DeepSpeed ZeRO-1."""
import logging
import tempfile
import time

import deepspeed
import torch
import torch.nn as nn
from deepspeed.ops import __compatible_ops__

from callbacks import CallbackList, LossPrinter, Snapshots

# the CPU nodes have no compiler for the shared-memory extension
__compatible_ops__["deepspeed_shm_comm"] = False

DS_CONFIG = {
    "train_micro_batch_size_per_gpu": 8,
    "gradient_accumulation_steps": 1,
    "gradient_clipping": 1.0,
    "zero_optimization": {"stage": 1},
    "steps_per_print": 100000,
}


class LowRank(nn.Module):
    def __init__(self, base: nn.Linear, rank=4):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.02)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


class Sentiment(nn.Module):
    def __init__(self, vocab=120, dim=40):
        super().__init__()
        self.words = nn.EmbeddingBag(vocab, dim).requires_grad_(False)
        self.hidden = LowRank(nn.Linear(dim, dim))
        self.score = nn.Linear(dim, 2)

    def forward(self, ids):
        return self.score(torch.tanh(self.hidden(self.words(ids))))


def reviews(seed, steps, batch):
    g = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        ids = torch.randint(0, 120, (batch, 12), generator=g)
        yield ids, (ids.float().mean(1) > 59.5).long()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    model = Sentiment()
    trainable = [p for p in model.parameters() if p.requires_grad]
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        model_parameters=trainable,
        optimizer=torch.optim.AdamW(trainable, lr=5e-3),
        config=DS_CONFIG,
    )
    callbacks = CallbackList(
        LossPrinter(every=10),
        Snapshots(tempfile.mkdtemp(prefix="sentiment-"), every=30),
    )
    batch = engine.train_micro_batch_size_per_gpu()
    for step, (ids, label) in enumerate(reviews(engine.global_rank, 150, batch)):
        loss = nn.functional.cross_entropy(engine(ids), label)
        engine.backward(loss)
        engine.step()
        callbacks.on_step_end(engine, step, loss.item())
        time.sleep(0.02)

    deepspeed.comm.barrier()
    deepspeed.comm.destroy_process_group()


if __name__ == "__main__":
    main()
