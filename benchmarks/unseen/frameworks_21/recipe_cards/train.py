"""Letters of handwritten recipe cards with the Trainer; read words are proofread on the way."""

import argparse
import logging
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

from proofreader import Proofreader

LETTERS = "abcdefghijklmnopqrstuvwxyz"
LENGTH = 7
logger = logging.getLogger("cards")


class Cards(Dataset):
    def __init__(self, count, noise, seed):
        self.count, self.noise, self.seed = count, noise, seed
        self.strokes = torch.randn(len(LETTERS), 20, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100_000 + i)
        labels = torch.randint(len(LETTERS), (LENGTH,), generator=g)
        strokes = self.strokes[labels] + self.noise * torch.randn(LENGTH, 20, generator=g)
        return {"strokes": strokes, "labels": labels}


class Scribe(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.rnn = nn.GRU(20, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(LETTERS))

    def forward(self, strokes, labels=None):
        logits = self.out(self.rnn(strokes)[0])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()) if labels is not None else None
        return {"loss": loss, "logits": logits}


class ReadAloud(TrainerCallback):
    """Every few steps the main process reads some cards and has the words proofread."""

    def __init__(self, cards, every):
        self.cards = cards
        self.every = every
        self.proofreader = None

    def on_train_begin(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            self.proofreader = Proofreader()

    @torch.no_grad()
    def on_step_end(self, args, state, control, model=None, **kwargs):
        if self.proofreader is None or state.global_step % self.every:
            return
        strokes = torch.stack([self.cards[i]["strokes"] for i in range(32)])
        network = getattr(model, "module", model)
        words = ["".join(LETTERS[k] for k in row) for row in network(strokes)["logits"].argmax(-1).tolist()]
        kept = sum(self.proofreader.ask(word) == word for word in words)
        logger.info("step %d: %d of %d words stand", state.global_step, kept, len(words))

    def on_train_end(self, args, state, control, **kwargs):
        if self.proofreader is not None:
            logger.info("%d remarks", len(self.proofreader.close()))


def collate(rows):
    time.sleep(0.02)  # cropping
    return {key: torch.stack([row[key] for row in rows]) for key in rows[0]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=9600)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--every", type=int, default=10)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(7)
    arguments = TrainingArguments(
        output_dir=tempfile.gettempdir(),
        use_cpu=True,
        per_device_train_batch_size=8,
        max_steps=options.steps,
        learning_rate=3e-3,
        logging_steps=100,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    callback = ReadAloud(Cards(32, 0.8, seed=2), options.every)
    trainer = Trainer(
        model=Scribe(),
        args=arguments,
        train_dataset=Cards(options.cards, 0.8, seed=1),
        data_collator=collate,
        callbacks=[callback],
    )
    trainer.train()
    trainer.accelerator.wait_for_everyone()


if __name__ == "__main__":
    main()
