"""Transcribes the drone notes of throat singing with the Trainer of transformers."""
import tempfile

import torch
import torch.nn.functional as F
from torch import nn
from transformers import TrainingArguments, set_seed

from songs import NOTES, Songs, collate
from sturdy import SturdyTrainer


class Transcriber(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.front = nn.Conv1d(12, width, 3, padding=1)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, NOTES)
        self.seen = nn.Embedding(NOTES, 1)       # log prior of the notes

    def forward(self, frames, labels=None):
        hidden = self.front(frames.transpose(1, 2)).relu().transpose(1, 2)
        logits = self.head(self.rnn(hidden)[0])
        if labels is None:
            return {"logits": logits}
        present = labels >= 0
        prior = self.seen(labels[present]).mean()
        lengths = torch.full((len(frames),), logits.shape[1])
        targets = labels.clamp(min=0)
        loss = F.ctc_loss((logits + self.seen.weight.T).log_softmax(-1).transpose(0, 1), targets, lengths,
                          present.sum(1), zero_infinity=True)
        return {"loss": loss + 1e-3 * prior ** 2, "logits": logits}


def main():
    torch.set_num_threads(1)
    set_seed(5)
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="songs_"), use_cpu=True, ddp_backend="gloo", report_to="none",
        per_device_train_batch_size=2, per_device_eval_batch_size=4, num_train_epochs=1, learning_rate=3e-3,
        logging_strategy="no", save_strategy="no", disable_tqdm=True, dataloader_num_workers=0)
    trainer = SturdyTrainer(
        model=Transcriber(), args=args, train_dataset=Songs(300, 1), eval_dataset=Songs(24, 2), data_collator=collate)
    trainer.train()
    scores = trainer.evaluate()
    if trainer.is_world_process_zero():
        print("eval loss", scores["eval_loss"], "dropped", trainer.bad_batches)


if __name__ == "__main__":
    main()
