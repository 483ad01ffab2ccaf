"""torchrun --nproc_per_node 2 run_clm.py --max_steps 100000 --save_interval 900"""
import argparse
import dataclasses

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset

from trainer import Trainer, TrainingArguments


class CharBlocks(Dataset):
    def __init__(self, n, block=32, vocab=48, seed=0):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(vocab, (n, 1), generator=g)
        stride = torch.randint(1, 5, (n, 1), generator=g)
        self.ids = (start + stride * torch.arange(block)) % vocab

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


class TinyCausalLM(nn.Module):
    def __init__(self, vocab=48, d=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.lm_head = nn.Linear(d, vocab, bias=False)

    def forward(self, input_ids, labels):
        h, _ = self.rnn(self.wte(input_ids))
        logits = self.lm_head(h)[:, :-1]
        return F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())


def parse_args():
    parser = argparse.ArgumentParser()
    for f in dataclasses.fields(TrainingArguments):
        parser.add_argument(f"--{f.name}", type=f.type, default=f.default)
    return TrainingArguments(**vars(parser.parse_args()))


def main():
    args = parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(args.seed)
    trainer = Trainer(TinyCausalLM(), args, CharBlocks(2048), CharBlocks(128, seed=1))
    state = trainer.train()
    if trainer.rank == 0:
        print("finished at step", state.global_step, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
