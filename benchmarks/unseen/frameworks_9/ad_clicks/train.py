"""Click model over the ad log, trained in log order on three processes."""
import logging
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import TrainingArguments

from guard import SteadyTrainer
from model import ClickModel

CAMPAIGNS = 300
SLOTS = 8


class AdLog:
    """Raw log lines as they were exported: (campaign, slot, hour, bid, clicked)."""

    def __init__(self, lines: int, seed: int = 13):
        g = torch.Generator().manual_seed(seed)
        self.campaign = torch.randint(0, CAMPAIGNS, (lines,), generator=g)
        self.slot = torch.randint(0, SLOTS, (lines,), generator=g)
        self.hour = torch.arange(lines) // 400 % 24
        self.bid = torch.rand(lines, generator=g) * 3
        appeal = torch.randn(CAMPAIGNS, generator=g)[self.campaign] - 0.3 * self.slot + 0.5 * self.bid
        self.clicked = (appeal + torch.randn(lines, generator=g) > 0).float()
        # a campaign that was booked after the table of campaigns had been frozen
        self.campaign[6260] = CAMPAIGNS


class ClickDataset(Dataset):
    def __init__(self, log: AdLog):
        self.log = log

    def __len__(self):
        return len(self.log.clicked)

    def __getitem__(self, i):
        log = self.log
        return {
            "campaign": log.campaign[i],
            "slot": log.slot[i],
            "dense": torch.stack([log.bid[i], torch.sin(log.hour[i] * 0.2618), torch.cos(log.hour[i] * 0.2618)]),
            "labels": log.clicked[i],
        }


def training_arguments() -> TrainingArguments:
    return TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="clicks-"),
        use_cpu=True,
        num_train_epochs=1,
        per_device_train_batch_size=16,
        train_sampling_strategy="sequential",
        learning_rate=5e-3,
        lr_scheduler_type="cosine",
        warmup_steps=10,
        optim="adamw_torch",
        max_grad_norm=1.0,
        logging_steps=25,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    torch.manual_seed(2)
    trainer = SteadyTrainer(
        model=ClickModel(CAMPAIGNS, SLOTS, pace=0.025),
        args=training_arguments(),
        train_dataset=ClickDataset(AdLog(16 * 3 * 240)),
    )
    trainer.train()
    trainer.save_model()
    print(f"refused {trainer.refused} batches")
