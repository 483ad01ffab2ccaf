"""Character model of saga verses under DeepSpeed ZeRO-3, on the CPU nodes."""
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from torch import nn

from journal import Journal
from verses import VOCAB, batches

CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 1,
    "zero_optimization": {
        "stage": 3,
        "stage3_param_persistence_threshold": 0,
        "reduce_bucket_size": 100000,
        "stage3_prefetch_bucket_size": 10000,
    },
    "zero_allow_untested_optimizer": True,
    "zero_force_ds_cpu_optimizer": False,
    "gradient_clipping": 1.0,
    "steps_per_print": 100000,
}


class Skald(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.layers = nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU())
                                     for _ in range(2)])
        self.out = nn.Linear(width, VOCAB)

    def forward(self, text):
        hidden = self.embed(text)
        for layer in self.layers:
            hidden = hidden + layer(hidden).cumsum(1) / text.shape[1]
        return self.out(hidden)


def main():
    torch.set_num_threads(1)
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False     # no compiler on these nodes
    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    with deepspeed.zero.Init(config_dict_or_path=CONFIG):
        model = Skald()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=CONFIG)

    journal = Journal(engine, every=12)
    for step, text in enumerate(batches(engine.global_rank, steps=60)):
        logits = engine(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        engine.backward(loss)
        engine.step()
        journal.after_step(step, loss)
        mean = loss.detach().clone()
        deepspeed.comm.all_reduce(mean)
        if mean.item() / deepspeed.comm.get_world_size() < 0.02:
            break                            # learnt by heart; the mean is the same everywhere
    journal.close()


if __name__ == "__main__":
    main()
