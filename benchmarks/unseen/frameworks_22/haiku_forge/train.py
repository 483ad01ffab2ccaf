"""A model that writes haiku, trained with DeepSpeed ZeRO-3; after every season it writes for each school."""

import argparse
import os
import time

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
import torch.distributed as dist
from torch import nn

from corpus import CONTEXT, SYLLABLES, Language, openings
from writer import Writer


class Poet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(SYLLABLES, width)
        self.mix = nn.Linear(CONTEXT * width, 2 * width)
        self.out = nn.Linear(2 * width, SYLLABLES)

    def forward(self, context):
        hidden = torch.tanh(self.mix(self.embed(context).flatten(1)))
        return self.out(hidden)


def config(args):
    return {
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": 1,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": {
            "stage": 3,
            "stage3_param_persistence_threshold": 0,
            "stage3_prefetch_bucket_size": 0,
            "stage3_max_live_parameters": 0,
            "stage3_max_reuse_distance": 0,
            "overlap_comm": False,
        },
        "steps_per_print": 10_000,
    }


class Forge:
    def __init__(self, args):
        self.args = args
        self.language = Language()
        torch.manual_seed(0)
        model = Poet()
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
        self.engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config(args))
        self.writer = Writer(self.engine, self.language)
        self.rank = dist.get_rank()
        self.generator = torch.Generator().manual_seed(50 + self.rank)

    def practise(self):
        for _ in range(self.args.steps):
            contexts, following = self.language.windows(self.args.batch, self.generator)
            loss = nn.functional.cross_entropy(self.engine(contexts), following)
            self.engine.backward(loss)
            self.engine.step()
            time.sleep(0.02)
        return loss.item()

    def run(self):
        for season in range(self.args.seasons):
            loss = self.practise()
            score = self.writer.score(*openings(self.language, self.rank, season))
            if self.rank == 0:
                print(f"season {season}: loss {loss:.3f}, {score:.1%} of the syllables fit", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seasons", type=int, default=8)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    Forge(args).run()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
