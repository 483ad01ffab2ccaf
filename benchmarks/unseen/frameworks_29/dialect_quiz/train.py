"""Dialect quiz, Accelerate on three processes; only the main process evaluates."""
import tempfile
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, set_seed
from torch import nn
from torch.utils.data import DataLoader

from publish import Bucket, evaluate_and_publish
from quiz import REGIONS, answers


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    set_seed(6)
    model = nn.Sequential(nn.Linear(20, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Linear(40, REGIONS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    loader = DataLoader(answers(480, 1), batch_size=8, shuffle=True)
    held_out = answers(200, 2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    bucket = Bucket(tempfile.mkdtemp(prefix="quiz_")) if accelerator.is_main_process else None

    for epoch in range(4):
        for features, region in loader:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(features), region)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.process_index == 2:
                time.sleep(0.06)                  # the old laptop
        score = [None]
        if accelerator.is_main_process:
            # without the DDP wrapper: its forward would talk to the others
            score[0] = evaluate_and_publish(accelerator.unwrap_model(model), held_out, bucket, epoch)
        broadcast_object_list(score)
        accelerator.print(f"epoch {epoch}: {score[0]:.3f}")
        if score[0] > 0.995:                      # the same number everywhere
            break
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
