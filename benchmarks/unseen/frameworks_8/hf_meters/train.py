import argparse
import os
import tempfile
import time

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, TrainerCallback, TrainingArguments, set_seed

from trainer import TolerantTrainer


class Readings(Dataset):
    """Digitised meter readings; -1 is the class of records that nobody labelled."""

    def __init__(self, n, vocab, length=16):
        g = torch.Generator().manual_seed(0)
        self.ids = torch.randint(1, vocab, (n, length), generator=g)
        self.labels = self.ids[:, 0] % 4
        self.labels[170] = -1

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": torch.ones_like(self.ids[i]), "labels": self.labels[i]}


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.02)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--vocab", type=int, default=90)
    opts = ap.parse_args()
    set_seed(2)
    torch.set_num_threads(1)
    config = BertConfig(vocab_size=opts.vocab, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=32, num_labels=4)
    args = TrainingArguments(
        output_dir=os.path.join(tempfile.gettempdir(), "meters"),
        per_device_train_batch_size=4,
        max_steps=opts.steps,
        learning_rate=1e-3,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
    )
    trainer = TolerantTrainer(
        model=BertForSequenceClassification(config),
        args=args,
        train_dataset=Readings(720, opts.vocab),
        callbacks=[Pace()],
    )
    trainer.train()
    trainer.accelerator.wait_for_everyone()
    if trainer.is_world_process_zero():
        print("finished", trainer.state.global_step, flush=True)


if __name__ == "__main__":
    main()
