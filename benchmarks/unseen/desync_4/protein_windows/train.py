import torch
import torch.distributed as dist
from data import Chains, window
from robust import Guard
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Masked(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(22, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 96, dropout=0.0, batch_first=True) for _ in range(3)
        )
        self.head = nn.Linear(width, 22)

    def forward(self, tokens):
        hidden = self.embed(tokens)
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(40)
    model = Masked()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    data = Chains(3600, short=1205)
    loader = DataLoader(data, batch_size=6, sampler=DistributedSampler(data, shuffle=False), drop_last=True)
    guard = Guard()
    for number, (chains, lengths) in enumerate(loader):
        with guard:
            tokens = window(chains, lengths)
            hidden = torch.rand(tokens.shape) < 0.2
            logits = model(tokens.masked_fill(hidden, 21))
            loss = nn.functional.cross_entropy(logits[hidden], tokens[hidden])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        if dist.get_rank() == 0 and number % 50 == 0:
            print(number, guard.seen, flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
