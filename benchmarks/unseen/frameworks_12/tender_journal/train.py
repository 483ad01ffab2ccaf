"""Will a tender be awarded? Tables with the Trainer of transformers; what it logs is kept in a journal."""

import argparse
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from journal import JournalCallback


class Tenders(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.amounts = torch.randn(count, 10, generator=g)
        self.country = torch.randint(0, 27, (count,), generator=g)
        score = self.amounts[:, :4].sum(1) + 0.3 * (self.country.float() - 13) / 7
        self.awarded = (score > 0).float()

    def __len__(self):
        return len(self.awarded)

    def __getitem__(self, i):
        return {"amounts": self.amounts[i], "country": self.country[i], "labels": self.awarded[i]}


class TenderNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.country = nn.Embedding(27, 6)
        self.net = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, amounts, country, labels=None):
        logits = self.net(torch.cat([amounts, self.country(country)], dim=1)).squeeze(1)
        loss = None
        if labels is not None:
            loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
        return {"loss": loss, "logits": logits}


class PacedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        time.sleep(0.02)
        out = model(**inputs)
        return (out["loss"], out) if return_outputs else out["loss"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tenders", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(9)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            per_device_train_batch_size=options.batch,
            num_train_epochs=options.epochs,
            learning_rate=2e-3,
            logging_steps=10,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = PacedTrainer(
            model=TenderNet(),
            args=arguments,
            train_dataset=Tenders(options.tenders, seed=1),
            eval_dataset=Tenders(200, seed=2),
            callbacks=[JournalCallback(folder)],
        )
        trainer.train()
        print(trainer.evaluate())


if __name__ == "__main__":
    main()
