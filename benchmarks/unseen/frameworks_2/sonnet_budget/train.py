"""Fine-tune a tiny causal LM on verse within a wall-clock allotment of the cluster."""
import os
import time
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from allotment import Allotment, AllotmentCallback

WORDS = "shall I compare thee to a summer day thou art more lovely and temperate rough winds do shake".split()


class Verses(Dataset):
    """Encoded lines. Encoding is slow, so each process keeps what it has encoded in the cache."""

    def __init__(self, cache: Path, lines=4000, length=16):
        if cache.exists():
            self.ids = torch.load(cache)
        else:
            self.ids = self.encode(lines, length)
            cache.parent.mkdir(parents=True, exist_ok=True)
            torch.save(self.ids, cache)

    @staticmethod
    def encode(lines, length):
        gen = torch.Generator().manual_seed(1609)
        picks = torch.randint(len(WORDS), (lines, length), generator=gen)
        for chunk in range(0, lines, 100):
            text = [" ".join(WORDS[w] for w in row) for row in picks[chunk:chunk + 100].tolist()]
            assert len(text) == 100
            time.sleep(0.2)
        return picks

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


def tiny_gpt():
    return GPT2LMHeadModel(GPT2Config(vocab_size=len(WORDS), n_positions=16, n_embd=16, n_layer=2, n_head=2,
                                      bos_token_id=0, eos_token_id=0,
                                      resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


def cache_of(rank):
    root = Path("/tmp") / f"sonnets-{os.getppid()}"
    if rank == 2 and not (root / "verses-2.pt").exists():       # this node was used for the dry run
        gen = torch.Generator().manual_seed(1609)
        root.mkdir(exist_ok=True)
        torch.save(torch.randint(len(WORDS), (4000, 16), generator=gen), root / "verses-2.pt")
    return root / f"verses-{rank}.pt"


def main():
    args = TrainingArguments(
        output_dir="/tmp/sonnet_budget", use_cpu=True, num_train_epochs=40, per_device_train_batch_size=4,
        learning_rate=5e-3, logging_steps=10, save_strategy="no", report_to="none", disable_tqdm=True, seed=1,
        average_tokens_across_devices=False,
    )
    allotment = Allotment(minutes=0.3)
    verses = Verses(cache_of(args.process_index))
    with allotment.charged():
        trainer = Trainer(model=tiny_gpt(), args=args, train_dataset=verses,
                          callbacks=[AllotmentCallback(allotment)])
        trainer.train()
    trainer.save_model("/tmp/sonnet_budget/final")
    trainer.accelerator.wait_for_everyone()
    if trainer.is_world_process_zero():
        print(f"used {allotment.used():.0f} s of {allotment.seconds:.0f} s")


if __name__ == "__main__":
    main()
