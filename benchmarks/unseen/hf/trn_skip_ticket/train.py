import logging
import tempfile
import time

import torch
import torch.nn as nn
from transformers import TrainerCallback, TrainingArguments

from tickets import QUEUES, VOCAB, Tickets
from tolerant import TolerantTrainer


class QueueClassifier(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.mix = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))
        self.out = nn.Linear(dim, QUEUES)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, tokens, labels=None):
        logits = self.out(self.mix(self.embed(tokens).mean(1)))
        result = {"logits": logits}
        if labels is not None:
            result["loss"] = self.criterion(logits, labels)
        return result


class Throttle(TrainerCallback):
    """Leaves some cpu to the annotators who share this machine."""

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.03)


def main():
    logging.basicConfig(level=logging.INFO)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="tickets-"),
        use_cpu=True,
        num_train_epochs=1,
        per_device_train_batch_size=8,
        train_sampling_strategy="sequential",
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        learning_rate=2e-3,
    )
    torch.manual_seed(args.seed)
    trainer = TolerantTrainer(model=QueueClassifier(), args=args, train_dataset=Tickets(), callbacks=[Throttle()])
    result = trainer.train()
    if trainer.is_world_process_zero():
        print("loss", result.training_loss, "skipped", trainer.skipped)


if __name__ == "__main__":
    main()
