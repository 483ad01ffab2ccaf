"""Session events of a shop with torchdata's StatefulDataLoader: expected value of an event, errors per kind of event."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset
from torch.utils.data.distributed import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

from funnel import Funnel

CYCLE = ["view", "view", "view", "click", "click", "view", "dwell", "view", "click", "order", "view", "click", "dwell"]


class Events(Dataset):
    """The events of a day in the order in which they came in."""

    def __init__(self, count=3600):
        g = torch.Generator().manual_seed(40)
        self.kinds = [CYCLE[i // 3 % len(CYCLE)] for i in range(count)]
        self.kinds[2] = "dwell"  # a session that was open at midnight
        numbers = torch.tensor([["view", "click", "dwell", "order"].index(kind) for kind in self.kinds])
        self.features = torch.cat([nn.functional.one_hot(numbers, 4).float(), torch.randn(count, 12, generator=g)], 1)
        self.value = numbers * 0.5 + self.features[:, 4:7].sum(1) * 0.3 + 0.1 * torch.randn(count, generator=g)

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        return self.kinds[i], self.features[i], self.value[i]


def collate(rows):
    kinds, features, values = zip(*rows)
    return list(kinds), torch.stack(features), torch.stack(values)


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    events = Events()
    sampler = DistributedSampler(events, shuffle=False)
    loader = StatefulDataLoader(events, batch_size=12, sampler=sampler, collate_fn=collate, num_workers=1)
    snapshot = None

    for epoch in range(3):
        funnel = Funnel()
        for number, (kinds, features, values) in enumerate(loader):
            guess = model(features).squeeze(1)
            loss = nn.functional.mse_loss(guess, values)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            funnel.add(kinds, (guess - values).detach().abs())
            if number % 50 == 0:
                snapshot = loader.state_dict()
        summary = funnel.summary()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: " + " ".join(f"{kind}={error:.3f}" for kind, error in summary.items()), flush=True)
    if snapshot is not None and dist.get_rank() == 0:
        print("loader state kept")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
