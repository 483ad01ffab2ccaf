"""Calls of herons at three sites with Accelerate's local SGD: each site trains alone, and now and then they average."""

import argparse
import logging
import time

import torch
from accelerate import Accelerator
from accelerate.local_sgd import LocalSGD
from accelerate.utils import set_seed
from torch import nn

from archive import Heartbeat, pack
from source import BANDS, Relay, hours

# hour of the night: refused attempts, by site
BUSY = {0: {}, 1: {4: 2, 9: 1}, 2: {7: 2}}


def build(width):
    return nn.Sequential(nn.Linear(BANDS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=int, default=12)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--average-every", type=int, default=16)
    parser.add_argument("--width", type=int, default=48)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    set_seed(6)
    accelerator = Accelerator(cpu=True)
    site = accelerator.process_index
    model = build(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = accelerator.prepare(model, optimizer)
    state = {"step": 0, "loss": 0.0}
    heartbeat = None
    if accelerator.is_main_process:
        heartbeat = Heartbeat(lambda: f"site 0: step {state['step']}, loss {state['loss']:.3f}")
        heartbeat.start()
    relay = Relay(site, BUSY.get(site, {}))
    with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=args.average_every) as local_sgd:
        for sound, calls in hours(relay, args.hours, args.batch):
            loss = nn.functional.binary_cross_entropy_with_logits(model(sound).squeeze(-1), calls)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            local_sgd.step()
            state["step"] += 1
            state["loss"] = loss.item()
            time.sleep(0.02)
    if accelerator.is_main_process:
        size, seconds = pack(accelerator.unwrap_model(model))
        print(f"packed {size} bytes in {seconds:.1f} s", flush=True)
        heartbeat.close()
    accelerator.wait_for_everyone()
    losses = accelerator.gather(torch.tensor([state["loss"]]))
    accelerator.print(f"last losses: {[round(v, 3) for v in losses.tolist()]}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
