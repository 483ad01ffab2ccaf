from torch.utils.data import DataLoader, Dataset


class NoteBlocks(Dataset):
    """Notes joined by [SEP] and cut into blocks of equal length."""

    def __init__(self, notes, tokenizer, block):
        inner = block - 2
        stream = []
        for start in range(0, len(notes), 1000):
            for ids in tokenizer(notes[start : start + 1000], add_special_tokens=False)["input_ids"]:
                stream.extend(ids)
                stream.append(tokenizer.sep_token_id)
        self.blocks = [
            [tokenizer.cls_token_id, *stream[i : i + inner], tokenizer.sep_token_id]
            for i in range(0, len(stream) - inner + 1, inner)
        ]

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        return {"input_ids": self.blocks[i], "attention_mask": [1] * len(self.blocks[i])}


def loaders(train, dev, collate, batch):
    return (
        DataLoader(train, batch_size=batch, shuffle=True, drop_last=True, collate_fn=collate, num_workers=2),
        DataLoader(dev, batch_size=batch, collate_fn=collate, num_workers=2),
    )
