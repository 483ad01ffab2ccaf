"""Fine-tunes a tiny GPT-2 on synthetic byte sequences."""
import os
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, HfArgumentParser, Trainer, TrainingArguments
from dataclasses import dataclass, field

from probes import ProbeCallback, ProbeSet


@dataclass
class ScriptArguments:
    vocab: int = field(default=64)
    length: int = field(default=24)
    samples: int = field(default=960)
    probe_every: int = field(default=24, metadata={"help": "steps between two probes"})


class ByteSequences(Dataset):
    def __init__(self, vocab, length, count):
        gen = torch.Generator().manual_seed(0)
        start = torch.randint(0, vocab, (count, 1), generator=gen)
        stride = torch.randint(1, 5, (count, 1), generator=gen)
        self.ids = (start + stride * torch.arange(length)) % vocab

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


def main():
    (script,) = HfArgumentParser(ScriptArguments).parse_args_into_dataclasses(sys.argv[1:])
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="gpt2-"),
        use_cpu=True,
        max_steps=60,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=8,
        learning_rate=1e-3,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        average_tokens_across_devices=False,
        seed=1,
    )
    config = GPT2Config(
        vocab_size=script.vocab, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    trainer = Trainer(
        model=GPT2LMHeadModel(config),
        args=args,
        train_dataset=ByteSequences(script.vocab, script.length, script.samples),
    )
    trainer.add_callback(ProbeCallback(trainer, ProbeSet(script.vocab, script.length), script.probe_every))
    trainer.train()


if __name__ == "__main__":
    main()
