"""Fine-tune a ticket router with the Hugging Face Trainer."""
import logging
import os
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

from monitor import SpotCheck


class Tickets(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(0, 90, (n, 12), generator=g)
        self.queue = self.ids.sum(1) % 5

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.queue[i]}


class Router(nn.Module):
    def __init__(self, vocab=90, dim=20, queues=5):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, queues))

    def forward(self, input_ids, labels=None):
        time.sleep(0.01)
        logits = self.mlp(self.emb(input_ids))
        loss = nn.functional.cross_entropy(logits, labels) if labels is not None else None
        return {"loss": loss, "logits": logits}


def accuracy(pred):
    return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}


def main():
    logging.basicConfig(level=logging.WARNING)
    set_seed(2)
    args = TrainingArguments(
        output_dir=os.path.join(tempfile.gettempdir(), f"router-{os.getppid()}"),
        use_cpu=True,
        per_device_train_batch_size=4,
        per_device_eval_batch_size=8,
        max_steps=60,
        learning_rate=5e-3,
        logging_steps=20,
        eval_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
    )
    trainer = Trainer(
        model=Router(),
        args=args,
        train_dataset=Tickets(800, 1),
        eval_dataset=Tickets(64, 9),
        compute_metrics=accuracy,
    )
    check = SpotCheck(first=26, every=26)
    trainer.add_callback(check.attach(trainer))
    trainer.train()
    metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print(metrics, check.history)


if __name__ == "__main__":
    main()
