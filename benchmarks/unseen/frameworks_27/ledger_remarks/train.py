"""Fine-tunes a small tagger on the remarks column of parish account books (transformers Trainer)."""
import tempfile

import torch
from torch import nn
from transformers import TrainerCallback, TrainingArguments

from remarks import Remarks, collate
from remark_trainer import RemarkTrainer


class Tagger(nn.Module):
    def __init__(self, words=400, tags=7, width=32):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, tags)

    def forward(self, input_ids, labels=None):
        logits = self.head(self.mix(self.embed(input_ids))[0])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        return {"loss": loss, "logits": logits}


class Pace(TrainerCallback):
    """Says now and then how far the books are."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and "loss" in logs:
            print(f"step {state.global_step}: loss {logs['loss']}", flush=True)


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=4,
            num_train_epochs=1,
            learning_rate=2e-3,
            logging_steps=30,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            ddp_backend="gloo",
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        trainer = RemarkTrainer(model=Tagger(), args=arguments, train_dataset=Remarks(1800),
                                data_collator=collate, callbacks=[Pace()])
        trainer.train()


if __name__ == "__main__":
    main()
