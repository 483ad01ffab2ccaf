"""Length-of-stay regression over four hospitals with a shared model."""
import logging
import tempfile
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import broadcast_object_list

from hospital import FEATURES, load_site

logger = get_logger(__name__)
EVAL_EVERY = 6
PATIENCE = 4
MAX_STEPS = 240
BATCH = 16


def build_model():
    return torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)
    )


@torch.no_grad()
def validate(model, features, target):
    model.eval()
    error = torch.nn.functional.mse_loss(model(features).squeeze(-1), target).item()
    model.train()
    return error


logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
(train_x, train_y), (val_x, val_y) = load_site(accelerator.process_index)
model = build_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model, optimizer = accelerator.prepare(model, optimizer)

where = [tempfile.mkdtemp(prefix="los-") if accelerator.is_main_process else None]
broadcast_object_list(where)
out = Path(where[0])

best, stale = float("inf"), 0
for step in range(1, MAX_STEPS + 1):
    rows = torch.arange(step * BATCH, (step + 1) * BATCH) % len(train_x)
    loss = torch.nn.functional.mse_loss(model(train_x[rows]).squeeze(-1), train_y[rows])
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.04)

    if step % EVAL_EVERY == 0:
        error = validate(accelerator.unwrap_model(model), val_x, val_y)
        if error < best:
            best, stale = error, 0
        else:
            stale += 1
        logger.info(f"step {step} validation error {error:.4f} best {best:.4f}")
        if stale >= PATIENCE:
            logger.info("no improvement any more", main_process_only=False)
            break

accelerator.wait_for_everyone()
accelerator.save(accelerator.unwrap_model(model).state_dict(), out / "model.pt")
accelerator.end_training()
