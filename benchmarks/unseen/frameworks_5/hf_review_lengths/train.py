"""Star ratings from product reviews."""
import tempfile
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import TrainingArguments, set_seed

from tolerant import TolerantTrainer

POSITIONS = 48


class RatingModel(nn.Module):
    def __init__(self, vocabulary=90, dim=16, heads=2):
        super().__init__()
        self.token = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.position = nn.Embedding(POSITIONS, dim)
        self.block = nn.TransformerEncoderLayer(dim, heads, 32, dropout=0.0, batch_first=True)
        self.stars = nn.Linear(dim, 5)

    def forward(self, input_ids, labels=None):
        where = torch.arange(input_ids.shape[1], device=input_ids.device)
        hidden = self.block(self.token(input_ids) + self.position(where))
        logits = self.stars(hidden.mean(1))
        time.sleep(0.01)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def load_reviews(count=720):
    g = torch.Generator().manual_seed(8)
    reviews = []
    for i in range(count):
        length = int(torch.randint(6, 40, (1,), generator=g))
        if i == 214:
            length = 61
        reviews.append({
            "input_ids": torch.randint(1, 90, (length,), generator=g),
            "labels": torch.randint(0, 5, (1,), generator=g).squeeze(0),
        })
    return reviews


def collate(rows):
    return {
        "input_ids": pad_sequence([r["input_ids"] for r in rows], batch_first=True),
        "labels": torch.stack([r["labels"] for r in rows]),
    }


if __name__ == "__main__":
    set_seed(4)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="reviews_"),
        per_device_train_batch_size=4,
        num_train_epochs=1,
        logging_steps=5,
        save_strategy="no",
        report_to="none",
        remove_unused_columns=False,
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = TolerantTrainer(model=RatingModel(), args=args, train_dataset=load_reviews(), data_collator=collate)
    result = trainer.train()
    if trainer.is_world_process_zero():
        print(result.metrics)
