"""Keyword spotting on a radio archive with transformers.Trainer.

Each process reads the recordings of its own studio, which lie on its own disk.
"""
import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainingArguments, set_seed

KEYWORDS = 6
FRAMES = 50


class Studio(Dataset):
    """The usable recordings of one studio."""

    def __init__(self, studio, recordings=72):
        gen = torch.Generator().manual_seed(90 + studio)
        level = torch.rand(recordings, generator=gen) + 0.5
        if studio == 1:
            level[30:42] = 0.004           # the week with the broken mixing desk
        sound = torch.randn(recordings, FRAMES, 8, generator=gen) * level[:, None, None]
        audible = [i for i in range(recordings) if sound[i].abs().mean() > 0.05]
        self.sound = sound[audible]
        self.keyword = torch.randint(0, KEYWORDS, (len(audible),), generator=gen)

    def __len__(self):
        return len(self.keyword)

    def __getitem__(self, i):
        return {"sound": self.sound[i], "keyword": self.keyword[i]}


class Spotter(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv = nn.Conv1d(8, width, 5, padding=2)
        self.norm = nn.GroupNorm(4, width)
        self.out = nn.Linear(width, KEYWORDS)

    def forward(self, sound, keyword=None):
        time.sleep(0.03)
        hidden = torch.relu(self.norm(self.conv(sound.transpose(1, 2)))).amax(dim=2)
        logits = self.out(hidden)
        loss = nn.functional.cross_entropy(logits, keyword) if keyword is not None else None
        return {"loss": loss, "logits": logits}


class StudioTrainer(Trainer):
    def get_train_dataloader(self):
        # the data are local already, so nothing is to be split again
        return DataLoader(self.train_dataset, batch_size=self.args.per_device_train_batch_size,
                          shuffle=True, collate_fn=self.data_collator)


def stack(samples):
    return {key: torch.stack([sample[key] for sample in samples]) for key in samples[0]}


def main():
    set_seed(5)
    args = TrainingArguments(
        output_dir="/tmp/radio_archive", use_cpu=True, per_device_train_batch_size=6, num_train_epochs=3,
        learning_rate=1e-3, logging_steps=6, save_strategy="no", report_to="none", disable_tqdm=True,
        remove_unused_columns=False, ddp_find_unused_parameters=False, label_names=["keyword"],
    )
    studio = Studio(int(os.environ.get("RANK", 0)))
    trainer = StudioTrainer(model=Spotter(), args=args, train_dataset=studio, data_collator=stack)
    trainer.train()
    trainer.accelerator.wait_for_everyone()
    if trainer.is_world_process_zero():
        torch.save(trainer.model.state_dict(), os.path.join(args.output_dir, "spotter.pt"))
        print("archive model saved", flush=True)


if __name__ == "__main__":
    main()
