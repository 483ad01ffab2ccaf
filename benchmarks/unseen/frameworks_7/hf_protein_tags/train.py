"""Secondary structure tags for protein sequences."""
import os
import tempfile
import time

import torch
from datasets import Dataset, disable_progress_bars
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments

ALPHABET = "ACDEFGHIKLMNPQRSTVWY"


def raw_sequences(n):
    g = torch.Generator().manual_seed(6)
    index = torch.randint(0, 20, (n, 18), generator=g)
    return ["".join(ALPHABET[j] for j in row) for row in index.tolist()]


def encode(sequence):
    """One letter at a time, with the look-up of the structure in the old annotation service."""
    ids = [ALPHABET.index(letter) for letter in sequence]
    time.sleep(0.05)
    return {"ids": ids, "labels": [i % 3 for i in ids]}


class StructureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 12)
        self.lstm = nn.LSTM(12, 10, batch_first=True, bidirectional=True)
        self.out = nn.Linear(20, 3)

    def forward(self, ids, labels):
        h, _ = self.lstm(self.emb(ids))
        logits = self.out(h)
        return {"loss": nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


class Throttle(TrainerCallback):
    def on_step_begin(self, args, state, control, **kwargs):
        time.sleep(0.03)


def tokenised(args, cache, n=320):
    with args.main_process_first(desc="encoding the sequences"):
        if os.path.exists(cache):
            return torch.load(cache)
        columns = [encode(s) for s in raw_sequences(n)]
        torch.save(columns, cache + ".part")
        os.replace(cache + ".part", cache)
        return columns


def main():
    disable_progress_bars()
    work = os.path.join(tempfile.gettempdir(), f"protein-{os.getppid()}-{os.environ.get('MASTER_PORT', '0')}")
    os.makedirs(work, exist_ok=True)
    args = TrainingArguments(
        output_dir=work,
        use_cpu=True,
        per_device_train_batch_size=8,
        max_steps=40,
        logging_steps=10,
        eval_strategy="steps",
        eval_steps=20,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        remove_unused_columns=False,
    )
    data = Dataset.from_list(tokenised(args, os.path.join(work, "encoded.pt"))).with_format("torch")
    trainer = Trainer(
        model=StructureNet(),
        args=args,
        train_dataset=data.select(range(272)),
        eval_dataset=data.select(range(272, 320)),
        callbacks=[Throttle()],
    )
    trainer.train()
    if trainer.is_world_process_zero():
        print([h for h in trainer.state.log_history if "eval_loss" in h])


if __name__ == "__main__":
    main()
