#!/usr/bin/env python
"""Predict the stars of a review. Reviews are grouped by shop; a process trains on its own shops."""
from dataclasses import dataclass, field
import os
import sys
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import HfArgumentParser, Trainer, TrainingArguments

from limits import make_limits


@dataclass
class DataOptions:
    reviews: int = field(default=480, metadata={"help": "reviews per process"})
    max_words: int = field(default=9000, metadata={"help": "words that we pay the annotators for"})


class ShopReviews(Dataset):
    def __init__(self, count, shop):
        g = torch.Generator().manual_seed(shop)
        low, high = ((20, 30) if shop != 1 else (55, 60))
        self.sizes = torch.randint(low, high, (count,), generator=g)
        self.shop = shop

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, i):
        n = int(self.sizes[i])
        words = torch.zeros(64, dtype=torch.long)
        words[:n] = torch.randint(1, 80, (n,), generator=torch.Generator().manual_seed(i))
        return {"words": words, "labels": torch.tensor(float(i % 5))}


class StarModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(80, 16, padding_idx=0)
        self.fc = nn.Linear(16, 1)

    def forward(self, words, labels):
        mask = words.ne(0).unsqueeze(-1)
        pooled = (self.emb(words) * mask).sum(1) / mask.sum(1)
        stars = self.fc(pooled).squeeze(-1)
        return {"loss": nn.functional.mse_loss(stars, labels), "logits": stars}


class ShopTrainer(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=self.args.per_device_train_batch_size, collate_fn=self.collate)

    @staticmethod
    def collate(rows):
        time.sleep(0.02)
        return {key: torch.stack([r[key] for r in rows]) for key in rows[0]}


def main(argv):
    (options,) = HfArgumentParser(DataOptions).parse_args_into_dataclasses(argv)
    args = TrainingArguments(
        output_dir=os.path.join(tempfile.gettempdir(), f"stars-{os.getppid()}"),
        use_cpu=True,
        per_device_train_batch_size=8,
        max_steps=55,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        remove_unused_columns=False,
    )
    data = ShopReviews(options.reviews, args.process_index)
    trainer = ShopTrainer(model=StarModel(), args=args, train_dataset=data)
    words_so_far, limit = make_limits(data, options.max_words)
    trainer.add_callback(limit)
    trainer.train()
    print(f"process {args.process_index}: {words_so_far()} words in {trainer.state.global_step} steps", flush=True)
    trainer.accelerator.wait_for_everyone()


if __name__ == "__main__":
    main(sys.argv[1:])
