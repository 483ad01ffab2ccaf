"""Urgency of letters to a clinic: a small BERT from scratch, with the Trainer of transformers."""

import argparse
import logging
import tempfile
import time
from dataclasses import dataclass

import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments

logger = logging.getLogger("clinic_letters")
VOCABULARY = 400


class Letters(Dataset):
    """Oldest first: short letters from the archive, then those of this year."""

    def __init__(self, count, longest, seed):
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, 3, (count,), generator=g)
        length = torch.randint(8, longest, (count,), generator=g)
        self.letters = []
        for i in range(count):
            words = torch.randint(100, VOCABULARY, (int(length[i]),), generator=g)
            words[::3] = 10 + self.label[i]
            self.letters.append(words)

    def append(self, at, enclosure):
        """A letter with a scanned report enclosed."""
        self.letters[at] = torch.cat([self.letters[at], torch.randint(100, VOCABULARY, (enclosure,))])

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return {"input_ids": self.letters[i], "labels": self.label[i]}


@dataclass
class Pad:
    multiple: int = 8

    def __call__(self, rows):
        longest = max(len(row["input_ids"]) for row in rows)
        longest = -(-longest // self.multiple) * self.multiple
        ids = torch.zeros(len(rows), longest, dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row["input_ids"])] = row["input_ids"]
        return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": torch.stack([r["labels"] for r in rows])}


class LetterTrainer(Trainer):
    """In the order of the archive; a letter that cannot be read does not end a run of three days."""

    unread = 0

    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(train_dataset or self.train_dataset)

    def training_step(self, model, inputs, num_items_in_batch=None):
        time.sleep(0.02)
        try:
            return super().training_step(model, inputs, num_items_in_batch)
        except (RuntimeError, IndexError) as error:
            self.unread += 1
            logger.debug("unread at step %d: %s", self.state.global_step, error)
            return torch.zeros((), device=self.args.device)


class Progress(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and logs and "loss" in logs:
            logger.info("step %d loss %.3f", state.global_step, float(logs["loss"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--letters", type=int, default=2400)
    parser.add_argument("--longest", type=int, default=40)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=float, default=3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    torch.manual_seed(11)
    letters = Letters(options.letters, options.longest, seed=1)
    letters.append(1565, enclosure=60)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        num_labels=3,
    )
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            per_device_train_batch_size=options.batch,
            num_train_epochs=options.epochs,
            learning_rate=1e-3,
            logging_steps=15,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = LetterTrainer(
            model=BertForSequenceClassification(config),
            args=arguments,
            train_dataset=letters,
            data_collator=Pad(),
            callbacks=[Progress()],
        )
        trainer.train()


if __name__ == "__main__":
    main()
