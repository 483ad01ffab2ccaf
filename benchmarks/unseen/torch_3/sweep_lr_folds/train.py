import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

from sweep import AxisSync, TrialGrid

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 80
FEATURES = 14


def churn_rows(fold_key, steps):
    """Customer rows by month: labelled contracts first, then also the open ones."""
    gen = torch.Generator().manual_seed(fold_key)
    for month in range(steps):
        late_share = 0.75 if fold_key % 2 == 0 else 0.25
        open_share = 0.25 if month < 28 else late_share
        total = 12
        n_open = int(total * open_share)
        x = torch.randn(total, FEATURES, generator=gen)
        y = (x[:, 0] + 0.3 * torch.randn(total, generator=gen) > 0).float()
        yield x[n_open:], y[n_open:], x[:n_open]


dist.init_process_group("gloo")
torch.manual_seed(3)
grid = TrialGrid(lrs=[0.05, 0.01], folds=[0, 1])
sync = AxisSync(grid)
w1 = (0.2 * torch.randn(FEATURES, 6)).requires_grad_()
w2 = (0.2 * torch.randn(6)).requires_grad_()

for step, (x, y, x_open) in enumerate(churn_rows(grid.row + grid.col, STEPS)):
    hidden = torch.tanh(x @ w1)
    loss = F.binary_cross_entropy_with_logits(hidden @ w2, y)
    loss = loss + 1e-3 * torch.tanh(x_open @ w1).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for w in (w1, w2):
            w -= grid.lr * w.grad
            w.grad = None
    sync.record("lr", hidden)
    sync.record("fold", torch.tanh(x_open @ w1))
    if step % 5 == 4:
        sync.exchange()
    time.sleep(0.03)
    if step % 20 == 0:
        print(f"trial lr={grid.lr} fold={grid.col} step={step} loss={loss.item():.4f}", flush=True)

board = [None] * dist.get_world_size()
dist.all_gather_object(board, (grid.lr, grid.col, loss.item()))
if grid.rank == 0:
    print("leaderboard", sorted(board, key=lambda row: row[-1])[:2])
dist.destroy_process_group()
