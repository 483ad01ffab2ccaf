"""Which jigsaw will a customer take next? A session model (transformers Trainer)."""
import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainingArguments

from courier import Courier
from sessions import BOXES, Sessions, collate


class NextBox(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.boxes = nn.Embedding(BOXES, width)
        self.session = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, BOXES)

    def forward(self, seen, labels=None):
        logits = self.out(self.session(self.boxes(seen))[0][:, -1])
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=8,
            num_train_epochs=2,
            learning_rate=3e-3,
            logging_steps=10,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            ddp_backend="gloo",
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        trainer = Trainer(model=NextBox(), args=arguments, train_dataset=Sessions(480), data_collator=collate,
                          callbacks=[Courier(folder)])
        trainer.train()
        # the second rank's folder is its own, nobody waits for it here
        if trainer.is_world_process_zero():
            print(f"done after {trainer.state.global_step} steps")


if __name__ == "__main__":
    main()
