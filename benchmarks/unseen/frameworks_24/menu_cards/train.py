"""Dates menu cards with the Trainer."""

import argparse
import logging
import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from cards import YEARS, MenuCards

log = logging.getLogger("menus")


class Dater(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(128, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, YEARS)

    def forward(self, letters, labels):
        _, last = self.rnn(self.embed(letters))
        logits = self.out(last[-1])
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class Progress(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and logs:
            log.info("step %d: %s", state.global_step, logs)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=3600)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--covers", type=int, nargs="*", default=[1507])
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    torch.set_num_threads(1)
    set_seed(5)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            per_device_train_batch_size=args.batch,
            num_train_epochs=args.epochs,
            learning_rate=3e-3,
            # cards stay in the order of the boxes
            train_sampling_strategy="sequential",
            dataloader_num_workers=1,
            dataloader_persistent_workers=True,
            dataloader_pin_memory=False,
            logging_steps=20,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = Trainer(
            model=Dater(),
            args=arguments,
            train_dataset=MenuCards(args.cards, seed=1, covers=args.covers),
            eval_dataset=MenuCards(240, seed=2),
            compute_metrics=accuracy,
            callbacks=[Progress()],
        )
        trainer.train()
        result = trainer.evaluate()
    if trainer.is_world_process_zero():
        log.info("accuracy %.3f", result["eval_accuracy"])


if __name__ == "__main__":
    main()
