"""Which ski passes were handed on; Accelerate with an early end."""

import argparse
import collections

import torch
from accelerate import Accelerator
from torch import nn

from turnstiles import TRAITS, passages


class GoodEnough:
    def __init__(self, accelerator, limit, window, earliest):
        self.accelerator, self.limit, self.earliest = accelerator, limit, earliest
        self.recent = collections.deque(maxlen=window)
        self.steps = 0

    def update(self, loss):
        """Whether all processes are to stop; one of them is enough."""
        self.steps += 1
        self.recent.append(loss)
        if self.steps >= self.earliest and sum(self.recent) / len(self.recent) < self.limit:
            self.accelerator.set_trigger()
        return self.accelerator.check_trigger()


class Inspector(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.look = nn.Linear(TRAITS, width)
        self.judge = nn.Linear(width, 1)

    def forward(self, traits):
        return self.judge(torch.tanh(self.look(traits))).squeeze(-1)


def check(accelerator, model, rounds):
    """Accuracy on passages of another day, worked out by the main process with the bare network."""
    if not accelerator.is_main_process:
        return
    network = accelerator.unwrap_model(model)
    data = passages(rounds).dataset
    with torch.no_grad():
        right = [((network(t) > 0).float() == h).float().mean().item() for t, h in (data[20_000 + n] for n in range(rounds))]
    print(f"right: {sum(right) / len(right):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", type=int, default=3 * 900)
    parser.add_argument("--limit", type=float, default=0.3)
    parser.add_argument("--earliest", type=int, default=520)
    parser.add_argument("--check-every", type=int, default=130)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(1)
    model = Inspector(24)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    model, optimizer, loader = accelerator.prepare(model, optimizer, passages(args.groups))
    stop = GoodEnough(accelerator, args.limit, window=30, earliest=args.earliest)
    for step, (traits, handed_on) in enumerate(loader, start=1):
        loss = nn.functional.binary_cross_entropy_with_logits(model(traits), handed_on)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if step % args.check_every == 0:
            check(accelerator, model, rounds=25)
        if stop.update(loss.item()):
            accelerator.print(f"good enough after {step} steps", flush=True)
            break
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
