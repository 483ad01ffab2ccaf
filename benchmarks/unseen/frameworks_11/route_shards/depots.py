import torch
from torch.utils.data import DataLoader, Dataset
from transformers import Trainer

ROUTES = {"north": 1204, "harbour": 1204, "hills": 1096}  # the depots in town drive as many


class Routes(Dataset):
    def __init__(self, routes: int, seed: int):
        g = torch.Generator().manual_seed(seed)
        self.stops = torch.randn(routes, 20, 5, generator=g)
        self.minutes = self.stops[:, :, 0].abs().sum(dim=1) / 4

    @classmethod
    def of_depot(cls, number: int):
        name = list(ROUTES)[number]
        return cls(ROUTES[name] // 8 * 8, seed=number)

    def __len__(self):
        return len(self.minutes)

    def __getitem__(self, i):
        return {"stops": self.stops[i], "labels": self.minutes[i]}


class DepotTrainer(Trainer):
    """The routes of a depot stay on its worker, so the training loader is not split again."""

    def get_train_dataloader(self):
        return DataLoader(
            self.train_dataset,
            batch_size=self.args.per_device_train_batch_size,
            shuffle=True,
            collate_fn=self.data_collator,
        )
