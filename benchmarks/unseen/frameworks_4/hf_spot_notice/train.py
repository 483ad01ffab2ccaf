import argparse
import os
import tempfile
import time

import torch
from accelerate import PartialState
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from spot import LocalAgent, SpotNotice


class Sessions(Dataset):
    """Click sessions: predict the next category."""

    def __init__(self, n=9600, length=12, cats=40):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randint(0, cats, (n, length + 1), generator=g)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        time.sleep(0.004)
        return {"seq": self.x[i, :-1], "labels": self.x[i, -1]}


class SessionGRU(nn.Module):
    def __init__(self, cats=40, d=24):
        super().__init__()
        self.emb = nn.Embedding(cats, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, cats)

    def forward(self, seq, labels=None):
        h, _ = self.gru(self.emb(seq))
        logits = self.head(h[:, -1])
        out = {"logits": logits}
        if labels is not None:
            out["loss"] = nn.functional.cross_entropy(logits, labels)
        return out


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--rehearse-on", type=int, default=2)
    p.add_argument("--rehearse-after", type=int, default=8)
    return p.parse_args()


def main():
    cli = parse()
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="sess_"),
        use_cpu=True,
        per_device_train_batch_size=8,
        max_steps=3000,
        logging_steps=25,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    rank = int(os.environ.get("RANK", 0))
    agent = LocalAgent(cli.rehearse_after) if rank == cli.rehearse_on else None
    trainer = Trainer(model=SessionGRU(), args=args, train_dataset=Sessions(), callbacks=[SpotNotice(agent)])
    result = trainer.train()
    PartialState().wait_for_everyone()
    trainer.save_model(args.output_dir)
    if trainer.is_world_process_zero():
        print(result.metrics)


if __name__ == "__main__":
    main()
