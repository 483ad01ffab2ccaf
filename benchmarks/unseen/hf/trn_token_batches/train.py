"""Subcellular localisation of proteins with a small convolutional model."""
import random
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainingArguments

from batching import TokenBatchSampler

RESIDUES = 21
COMPARTMENTS = 4


class Proteins(Dataset):
    """Three organisms one after the other, 120 sequences each."""

    def __init__(self):
        rng = random.Random(12)
        self.sequences, self.targets = [], []
        for shortest, longest in ((60, 64), (36, 40), (60, 64)):
            for _ in range(120):
                size = rng.randint(shortest, longest)
                self.sequences.append(torch.tensor([rng.randrange(1, RESIDUES) for _ in range(size)]))
                self.targets.append(rng.randrange(COMPARTMENTS))

    @property
    def lengths(self):
        return [len(s) for s in self.sequences]

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, index):
        return {"residues": self.sequences[index], "labels": self.targets[index]}


def pad(items):
    residues = nn.utils.rnn.pad_sequence([i["residues"] for i in items], batch_first=True)
    return {"residues": residues, "labels": torch.tensor([i["labels"] for i in items])}


class LocalisationNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(RESIDUES, dim, padding_idx=0)
        self.convs = nn.ModuleList(nn.Conv1d(dim, dim, k, padding=k // 2) for k in (3, 5, 9))
        self.head = nn.Linear(3 * dim, COMPARTMENTS)

    def forward(self, residues, labels=None):
        x = self.embed(residues).transpose(1, 2)
        logits = self.head(torch.cat([conv(x).amax(-1) for conv in self.convs], -1))
        loss = nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return {"loss": loss, "logits": logits}


class ProteinTrainer(Trainer):
    max_tokens = 384

    def get_train_dataloader(self):
        sampler = TokenBatchSampler(
            self.train_dataset.lengths, self.max_tokens, self.args.process_index, self.args.world_size
        )
        # already one part per process, so it does not go through accelerator.prepare
        return DataLoader(self.train_dataset, batch_sampler=sampler, collate_fn=pad)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        time.sleep(0.03)
        return super().compute_loss(model, inputs, return_outputs=return_outputs, **kwargs)


def main():
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="proteins-"),
        use_cpu=True,
        num_train_epochs=2,
        learning_rate=1e-3,
        logging_steps=12,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    trainer = ProteinTrainer(model=LocalisationNet(), args=args, train_dataset=Proteins(), data_collator=pad)
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
