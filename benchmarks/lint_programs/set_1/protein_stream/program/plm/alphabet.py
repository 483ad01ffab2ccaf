import torch

SPECIAL = ["<pad>", "<cls>", "<eos>", "<mask>"]
RESIDUES = list("LAGVSERTIDPKQNFYMHWCXBUZO")
TOKENS = SPECIAL + RESIDUES
PAD, CLS, EOS, MASK = range(4)
_INDEX = {t: i for i, t in enumerate(TOKENS)}
_X = _INDEX["X"]


def encode(seq, max_len):
    body = [_INDEX.get(c, _X) for c in seq[: max_len - 2]]
    return torch.tensor([CLS] + body + [EOS])
