from pathlib import Path

from timm.data import ImageDataset, create_transform
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def create_loader(root, split, env, data_config, batch_size, training, workers=8):
    transform = create_transform(**data_config, is_training=training)
    dataset = ImageDataset(str(Path(root) / split), transform=transform)
    sampler = DistributedSampler(
        dataset, num_replicas=env.world_size, rank=env.local_rank, shuffle=training, drop_last=training
    )
    return DataLoader(
        dataset, batch_size=batch_size, sampler=sampler, num_workers=workers, pin_memory=True, drop_last=training
    )
