"""Prices of flats with the Trainer of transformers, from facts and photos; newest listings last."""
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from model import ListingPrice

DRAFTS = 8


class Listings(Dataset):
    """Ordered by date; the last ones are drafts, for which no photographer has come yet."""

    def __init__(self, count, seed, drafts=0):
        g = torch.Generator().manual_seed(seed)
        self.facts = torch.randn(count, 9, generator=g)
        self.photos = torch.rand(count, 3, 16, 16, generator=g)
        self.has_photo = torch.arange(count) % 3 != 0
        if drafts:
            self.has_photo[-drafts:] = False
        bright = self.photos.mean(dim=(1, 2, 3)) * self.has_photo
        self.price = self.facts[:, :4].sum(1) * 0.4 + bright + 0.05 * torch.randn(count, generator=g)

    def __len__(self):
        return len(self.facts)

    def __getitem__(self, i):
        return {
            "facts": self.facts[i],
            "photos": self.photos[i],
            "has_photo": self.has_photo[i],
            "labels": self.price[i],
        }


def main():
    torch.set_num_threads(1)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="flats-"),
        use_cpu=True,
        num_train_epochs=1,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=32,
        train_sampling_strategy="sequential",
        learning_rate=1e-3,
        max_grad_norm=1.0,
        logging_steps=50,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        seed=2,
    )
    trainer = Trainer(
        model=ListingPrice(),
        args=args,
        train_dataset=Listings(3600, 1, drafts=DRAFTS),
        eval_dataset=Listings(400, 2),
    )
    trainer.train()
    metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(metrics)


if __name__ == "__main__":
    main()
