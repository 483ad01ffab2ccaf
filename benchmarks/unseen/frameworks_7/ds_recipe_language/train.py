"""Continue the training of a small recipe language model with DeepSpeed."""
import argparse
import os
import tempfile
import time
from statistics import fmean

import deepspeed
import torch
from torch import nn

DS_CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 1,
    "zero_optimization": {"stage": 1},
    "gradient_clipping": 1.0,
    "steps_per_print": 1000,
    "zero_allow_untested_optimizer": True,
}


class RecipeModel(nn.Module):
    def __init__(self, vocab=150, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 2, 48, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1)
        self.vocab = nn.Linear(dim, vocab)

    def forward(self, ids):
        size = ids.size(1) - 1
        mask = torch.triu(torch.full((size, size), float("-inf")), diagonal=1)
        hidden = self.layers(self.embed(ids[:, :-1]), mask=mask)
        return nn.functional.cross_entropy(self.vocab(hidden).flatten(0, 1), ids[:, 1:].flatten())


def recipes(rank, steps):
    g = torch.Generator().manual_seed(1000 + rank)
    for _ in range(steps):
        yield torch.randint(0, 150, (4, 16), generator=g)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--warmup", type=int, default=24)
    args = parser.parse_args()

    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False   # plain gloo will do
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(42)
    net = RecipeModel()
    engine, _, _, _ = deepspeed.initialize(
        model=net,
        optimizer=torch.optim.AdamW(net.parameters(), lr=1e-3),
        config=DS_CONFIG,
    )
    folder = os.path.join(tempfile.gettempdir(), f"recipes-{os.getppid()}")
    losses, best, saved = [], float("inf"), []
    for step, ids in enumerate(recipes(engine.global_rank, args.steps), start=1):
        loss = engine(ids)
        engine.backward(loss)
        engine.step()
        losses.append(loss.item())
        if step >= args.warmup and step % 8 == 0:
            mean = fmean(losses[-8:])
            if engine.global_rank == 0 and mean < best:
                best = mean
                saved.append(f"best-{step}")
                engine.save_checkpoint(folder, tag=saved[-1], client_state={"loss": best})
        time.sleep(0.02)
    deepspeed.comm.barrier()
    if engine.global_rank == 0:
        print("kept", saved)


if __name__ == "__main__":
    main()
