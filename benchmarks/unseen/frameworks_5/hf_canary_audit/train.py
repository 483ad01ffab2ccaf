"""Intent detection for a banking assistant with the Hugging Face Trainer."""
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments

from callbacks import CanaryAudit


class Utterances(Dataset):
    def __init__(self, size, intents=6, vocabulary=120, length=10, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(0, vocabulary, (size, length), generator=g)
        self.intent = self.tokens.sum(1) % intents

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"tokens": self.tokens[i], "labels": self.intent[i]}


class IntentModel(nn.Module):
    def __init__(self, vocabulary=120, dim=24, intents=6):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, intents)

    def forward(self, tokens, labels=None):
        _, state = self.encoder(self.embed(tokens))
        logits = self.head(state[-1])
        time.sleep(0.01)
        out = {"logits": logits}
        if labels is not None:
            out = {"loss": nn.functional.cross_entropy(logits, labels), **out}
        return out


def main():
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="intent_"),
        per_device_train_batch_size=8,
        per_device_eval_batch_size=8,
        max_steps=50,
        learning_rate=2e-3,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        remove_unused_columns=False,
        average_tokens_across_devices=False,
        disable_tqdm=True,
        use_cpu=True,
        seed=5,
    )
    trainer = Trainer(model=IntentModel(), args=args, train_dataset=Utterances(1600))
    audit = CanaryAudit(Utterances(48, seed=99)).bind(trainer)
    trainer.train()
    trainer.save_model()
    print(f"[{args.process_index}] audits: {audit.accuracies}", flush=True)


if __name__ == "__main__":
    main()
