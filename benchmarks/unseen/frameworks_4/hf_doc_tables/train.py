"""Layout analysis of scanned invoices. Pages are ordered by archive box; no shuffling, the boxes are balanced."""
import tempfile
import time
from dataclasses import dataclass, field

import torch
from torch.utils.data import Dataset
from transformers import HfArgumentParser, Trainer, TrainingArguments

from modeling import LayoutModel


@dataclass
class DataArgs:
    n_pages: int = field(default=1440)
    boxes_per_page: int = field(default=12)
    letter_range: str = field(default="536:544", metadata={"help": "pages of plain correspondence in the archive"})


class Pages(Dataset):
    def __init__(self, a: DataArgs):
        self.a = a
        lo, hi = map(int, a.letter_range.split(":"))
        self.letters = range(lo, hi)

    def __len__(self):
        return self.a.n_pages

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        n = self.a.boxes_per_page
        in_table = torch.zeros(n, dtype=torch.bool)
        if i not in self.letters:
            in_table[n // 2 :] = True
        time.sleep(0.002)
        return {
            "boxes": torch.randn(n, 10, generator=g),
            "labels": torch.randint(0, 5, (n,), generator=g),
            "coords": torch.rand(n, 2, generator=g),
            "in_table": in_table,
        }


def main():
    (data_args,) = HfArgumentParser(DataArgs).parse_args_into_dataclasses()
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="layout_"),
        use_cpu=True,
        per_device_train_batch_size=8,
        max_steps=60,
        learning_rate=1e-3,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
        train_sampling_strategy="sequential",
        ddp_find_unused_parameters=False,  # saves a traversal of the graph per step
    )
    torch.manual_seed(args.seed)
    trainer = Trainer(model=LayoutModel(), args=args, train_dataset=Pages(data_args))
    out = trainer.train()
    if trainer.is_world_process_zero():
        print("train loss", round(out.training_loss, 4))


if __name__ == "__main__":
    main()
