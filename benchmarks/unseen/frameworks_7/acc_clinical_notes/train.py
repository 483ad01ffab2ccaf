"""Classify clinical notes; the batch size is found automatically."""
import logging
import sys
import time

import torch
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size, set_seed
from torch import nn
from torch.utils.data import DataLoader

from notes import NoteCorpus, pad_notes

log = logging.getLogger("notes")


class NoteClassifier(nn.Module):
    """Bag of tokens with a bias for the distance between tokens."""

    def __init__(self, vocab=500, dim=12, classes=4):
        super().__init__()
        self.decay = nn.Parameter(torch.tensor(0.1))
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.head = nn.Linear(dim, classes)

    def attention_bias(self, length):
        pos = torch.arange(length)
        return (pos[:, None] - pos[None, :]).abs()

    def forward(self, tokens):
        bias = self.attention_bias(tokens.size(1))
        weights = torch.softmax(-self.decay * bias, dim=-1)
        hidden = weights @ self.embed(tokens)
        return self.head(hidden.mean(1))


def run(config):
    accelerator = Accelerator(cpu=True)
    corpus = NoteCorpus(config["notes"])

    @find_executable_batch_size(starting_batch_size=config["batch_size"])
    def fit(batch_size):
        accelerator.free_memory()
        set_seed(config["seed"])
        log.info("rank %d: batch size %d", accelerator.process_index, batch_size)
        net = NoteClassifier()
        opt = torch.optim.SGD(net.parameters(), lr=config["lr"])
        loader = DataLoader(corpus, batch_size=batch_size, collate_fn=pad_notes)
        net, opt, loader = accelerator.prepare(net, opt, loader)
        for step, (tokens, label) in enumerate(loader):
            logits = net(tokens)
            loss = nn.functional.cross_entropy(logits, label)
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()
            time.sleep(0.02)
            if step % 5 == 0 and accelerator.is_main_process:
                log.info("step %d loss %.4f", step, loss.item())
        return net

    net = fit()
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        state = accelerator.unwrap_model(net).state_dict()
        log.info("finished, %d tensors", len(state))
    accelerator.end_training()


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s")
    run({"notes": 400, "batch_size": 4, "lr": 0.05, "seed": 7})
