"""Token tagging of invoices: which token belongs to which field."""
import os
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

IGNORE = -100


class Invoices(Dataset):
    def __init__(self, pages=600, length=16):
        g = torch.Generator().manual_seed(31)
        self.tokens = torch.randint(0, 64, (pages, length), generator=g)
        self.fields = self.tokens % 7
        self.fields[:, -3:] = IGNORE
        # a supplier whose pages were scanned but never annotated
        self.fields[200:204] = IGNORE

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return dict(tokens=self.tokens[i], labels=self.fields[i])


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(64, 16)
        self.mix = nn.Conv1d(16, 16, 3, padding=1)
        self.tag = nn.Linear(16, 7)

    def forward(self, tokens, labels):
        hidden = torch.relu(self.mix(self.emb(tokens).transpose(1, 2))).transpose(1, 2)
        logits = self.tag(hidden)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
        return {"loss": loss, "logits": logits}


class FieldTrainer(Trainer):
    """Trainer for partly annotated pages, read in the order of the archive."""

    def _get_train_sampler(self, train_dataset=None):
        return torch.utils.data.SequentialSampler(train_dataset if train_dataset is not None else self.train_dataset)

    def training_step(self, model, inputs, num_items_in_batch=None):
        time.sleep(0.02)
        annotated = inputs["labels"].ne(IGNORE)
        if not annotated.any():
            return torch.zeros((), device=self.args.device)
        return super().training_step(model, inputs, num_items_in_batch)


def build_trainer():
    torch.manual_seed(0)
    args = TrainingArguments(
        output_dir=os.path.join(tempfile.gettempdir(), f"invoice-{os.getppid()}"),
        use_cpu=True,
        per_device_train_batch_size=4,
        num_train_epochs=1,
        learning_rate=3e-3,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        ddp_find_unused_parameters=False,
        remove_unused_columns=False,
        accelerator_config={"even_batches": True},
    )
    return FieldTrainer(model=Tagger(), args=args, train_dataset=Invoices())


if __name__ == "__main__":
    trainer = build_trainer()
    result = trainer.train()
    if trainer.is_world_process_zero():
        print("loss", round(result.training_loss, 4))
