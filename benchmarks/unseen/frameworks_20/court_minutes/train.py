"""Which minutes of a court speak of a fine: a bag of words classified with the Trainer."""

import argparse
import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from callbacks import ReportCallback

WORDS = 300


class Minutes(Dataset):
    """Paragraphs of sixteen words; a fine is likelier where words of the first fifty are used."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.words = torch.randint(0, WORDS, (count, 16), generator=g)
        about = (self.words < 50).float().sum(1) + torch.randn(count, generator=g)
        self.labels = (about > 2.5).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"words": self.words[i], "labels": self.labels[i]}


class FineModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.EmbeddingBag(WORDS, width, mode="sum")
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, words, labels=None):
        logits = self.head(self.embed(words))
        if labels is None:
            return {"logits": logits}
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--paragraphs", type=int, default=3000)
    parser.add_argument("--examined", type=int, default=400)
    parser.add_argument("--eval-every", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(31)
    examined = Minutes(args.examined, seed=3)
    with tempfile.TemporaryDirectory(prefix="minutes") as folder:
        training = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=8,
            per_device_eval_batch_size=32,
            num_train_epochs=args.epochs,
            learning_rate=1e-3,
            eval_strategy="steps",
            eval_steps=args.eval_every,
            logging_steps=40,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            ddp_backend="gloo",
            disable_tqdm=True,
        )
        trainer = Trainer(
            model=FineModel(32),
            args=training,
            train_dataset=Minutes(args.paragraphs, seed=1),
            eval_dataset=Minutes(300, seed=2),
            callbacks=[ReportCallback((examined.words, examined.labels), folder)],
        )
        trainer.train()


if __name__ == "__main__":
    main()
