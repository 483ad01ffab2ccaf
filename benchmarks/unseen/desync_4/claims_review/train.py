import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from claims import Claims, Review
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import DataLoader


class Gate:
    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.dropped = 0

    def closed(self, rows):
        broken = torch.tensor([float(not torch.isfinite(rows).all())])
        if self.accelerator.reduce(broken, reduction="sum").item() > 0:
            self.dropped += 1
            return True
        return False


def main():
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    set_seed(29)
    model = Review()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = DataLoader(Claims(9600), batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    gate = Gate(accelerator)
    hits, count = 0, 0
    for rows, fraud in loader:
        if gate.closed(rows):
            continue
        logits = model(rows)
        loss = binary_cross_entropy_with_logits(logits, fraud)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        hits += int(((logits > 0) == (fraud > 0.5)).sum())
        count += len(rows)
    totals = accelerator.reduce(torch.tensor([hits, count]), reduction="sum")
    accelerator.print(f"accuracy {totals[0] / totals[1]:.3f}, {gate.dropped} batches dropped", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
