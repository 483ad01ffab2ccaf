import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class PromptDataset(Dataset):
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.lines = [line.strip() for line in f if line.strip()]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        return self.lines[i]


def prompt_loader(path, tokenizer, batch_size, max_len, seed):
    dataset = PromptDataset(path)
    sampler = DistributedSampler(dataset, shuffle=True, seed=seed, drop_last=True)

    def collate(texts):
        enc = tokenizer(
            texts, return_tensors="pt", padding="max_length", truncation=True, max_length=max_len
        )
        return enc["input_ids"], enc["attention_mask"]

    return DataLoader(dataset, batch_size, sampler=sampler, collate_fn=collate, drop_last=True), sampler


def length_and_format_reward(texts, target=60):
    scores = []
    for t in texts:
        n = len(t.split())
        scores.append(1.0 - abs(n - target) / target + (0.5 if t.rstrip().endswith(".") else 0.0))
    return torch.tensor(scores)
