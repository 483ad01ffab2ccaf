import json

from torch.utils.data import Dataset

IGNORE = -100


class Conversations(Dataset):
    """`{"turns": [{"role": "user"|"assistant", "content": ...}, ...]}` per line."""

    def __init__(self, path, tokenizer, max_length):
        with open(path, encoding="utf-8") as fh:
            self.samples = [json.loads(line)["turns"] for line in fh]
        self.tok = tokenizer
        self.max_length = max_length

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        ids, labels = [self.tok.bos_token_id], [IGNORE]
        for turn in self.samples[i]:
            if turn["role"] == "user":
                piece = self.tok.encode(f"[INST] {turn['content'].strip()} [/INST]", add_special_tokens=False)
                ids += piece
                labels += [IGNORE] * len(piece)
            else:
                piece = self.tok.encode(turn["content"].strip(), add_special_tokens=False)
                piece.append(self.tok.eos_token_id)
                ids += piece
                labels += piece
        return {
            "input_ids": ids[: self.max_length],
            "attention_mask": [1] * min(len(ids), self.max_length),
            "labels": labels[: self.max_length],
        }
