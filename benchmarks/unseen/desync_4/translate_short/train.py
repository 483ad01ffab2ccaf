import time
from dataclasses import dataclass

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Options:
    sentences: int = 7200
    batch_size: int = 6
    words: int = 20
    vocabulary: int = 120
    fewest: int = 40
    rate: float = 1e-3


class Sentences(Dataset):
    def __init__(self, options):
        generator = torch.Generator().manual_seed(88)
        shape = (options.sentences, options.words)
        self.words = torch.randint(1, options.vocabulary, shape, generator=generator)
        lengths = torch.randint(10, options.words + 1, (options.sentences, 1), generator=generator)
        # headings and captions stand at one place of the corpus
        lengths[2485:2501:3] = 3
        self.words[torch.arange(options.words) >= lengths] = 0

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        time.sleep(0.012)
        return self.words[index]


class Pacer:
    """Batches of few words are not worth an update: their gradient is kept for the next."""

    def __init__(self, fabric, model, optimizer, fewest):
        self.fabric, self.model, self.optimizer = fabric, model, optimizer
        self.fewest = fewest
        self.kept = 0

    def learn(self, words):
        thin = int((words > 0).sum()) < self.fewest
        with self.fabric.no_backward_sync(self.model, enabled=thin):
            logits = self.model(words[:, :-1])
            loss = nn.functional.cross_entropy(logits.transpose(1, 2), words[:, 1:], ignore_index=0)
            self.fabric.backward(loss)
        if thin:
            self.kept += 1
            return loss
        self.fabric.clip_gradients(self.model, self.optimizer, max_norm=1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss


def main():
    options = Options()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(4)
    model = nn.Sequential(
        nn.Embedding(options.vocabulary, 32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, options.vocabulary)
    )
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=options.rate))
    loader = fabric.setup_dataloaders(DataLoader(Sentences(options), batch_size=options.batch_size))
    pacer = Pacer(fabric, model, optimizer, options.fewest)
    for number, words in enumerate(loader):
        loss = pacer.learn(words)
        if number % 50 == 0:
            fabric.print(f"{number}: {loss.item():.3f}", flush=True)
    fabric.barrier()
    fabric.print("done", flush=True)


if __name__ == "__main__":
    main()
