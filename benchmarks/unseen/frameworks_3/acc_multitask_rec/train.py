import time

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset

from tasks import TASKS, Scoreboard, SharedBottom


class Impressions(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(5)
        self.user = torch.randint(0, 500, (n,), generator=g)
        self.item = torch.randint(0, 800, (n,), generator=g)
        self.click = (torch.rand(n, generator=g) < 0.2).float()
        self.dwell = torch.rand(n, generator=g) * self.click
        self.share = (torch.rand(n, generator=g) < 0.05).float()

    def __len__(self):
        return len(self.user)

    def __getitem__(self, i):
        return {k: getattr(self, k)[i] for k in ("user", "item", "click", "dwell", "share")}


def train_one_pass(accelerator, model, optimizer, loader, board):
    model.train()
    # one day of impressions, every row exactly once: no padding of the last round
    with accelerator.join_uneven_inputs([model], even_batches=False):
        for i, row in enumerate(loader):
            out = model(row)
            losses = {name: fn(out[name], row) for name, (fn, _) in TASKS.items()}
            total = sum(TASKS[name][1] * value for name, value in losses.items())
            accelerator.backward(total)
            optimizer.step()
            optimizer.zero_grad()
            board.update(losses)
            time.sleep(0.03)
            if i % 10 == 0:
                accelerator.print(f"[{i:4d}] {board.line()}", flush=True)


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(21)
    model = SharedBottom()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    loader = DataLoader(Impressions(1585), batch_size=16, shuffle=False)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    board = Scoreboard(accelerator)
    train_one_pass(accelerator, model, optimizer, loader, board)
    accelerator.wait_for_everyone()
    accelerator.print("final", board.line())
    accelerator.end_training()


if __name__ == "__main__":
    main()
