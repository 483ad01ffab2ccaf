"""Train the intent tagger on the English and German exports.

The two exports are interleaved so that every batch of the global step sees both languages.
"""
import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from model import IntentTagger

# utterances of the German export that came from the second vendor, which annotates intents only
VENDOR_B = range(105, 115)


class Utterances(Dataset):
    def __init__(self, per_language: int, vocab: int = 400, length: int = 12):
        g = torch.Generator().manual_seed(0)
        n = 2 * per_language
        self.tokens = torch.randint(0, vocab, (n, length), generator=g)
        self.intent = self.tokens[:, 0] % 6
        self.topic = self.tokens[:, 1] % 4
        for row in VENDOR_B:
            self.topic[2 * row + 1] = -1

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"tokens": self.tokens[i], "intent": self.intent[i], "topic": self.topic[i]}


class Exports(L.LightningDataModule):
    def train_dataloader(self):
        data = Utterances(per_language=240)
        return DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))


def run():
    L.seed_everything(2024, verbose=False)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=3,
        log_every_n_steps=10,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(IntentTagger(), datamodule=Exports())
    trainer.print("final:", {k: round(float(v), 3) for k, v in trainer.callback_metrics.items()})


if __name__ == "__main__":
    run()
