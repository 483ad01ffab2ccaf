import os
import tempfile
import time

import torch
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

from model import MinutesTagger


class Meetings(Dataset):
    """The meetings of one site; each process keeps one site."""

    def __init__(self, site, n=400):
        g = torch.Generator().manual_seed(11 * site + 1)
        self.rows = []
        for i in range(n):
            phone_call = site == 0 and 136 <= i < 152
            self.rows.append({
                "tokens": torch.randint(0, 40, (12,), generator=g),
                "slide": torch.randn(10, generator=g),
                "shown": torch.tensor(not phone_call and i % 3 != 0),
                "labels": torch.randint(0, 5, (), generator=g),
            })

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class SiteTrainer(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=self.args.per_device_train_batch_size,
                          collate_fn=self.data_collator)


class Pace(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.03)


def main():
    site = int(os.environ.get("RANK", 0))
    args = TrainingArguments(
        output_dir=os.path.join(tempfile.gettempdir(), "minutes"),
        use_cpu=True,
        ddp_backend="gloo",
        ddp_find_unused_parameters=False,
        per_device_train_batch_size=8,
        num_train_epochs=1,
        learning_rate=1e-3,
        logging_steps=1,
        logging_first_step=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    torch.manual_seed(1)
    trainer = SiteTrainer(model=MinutesTagger(), args=args, train_dataset=Meetings(site), callbacks=[Pace()])
    trainer.train()
    trainer.accelerator.wait_for_everyone()


if __name__ == "__main__":
    main()
