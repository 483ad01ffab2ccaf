"""Chat format on top of a base model whose vocabulary has reserved, never trained tokens."""
import deepspeed
import torch

# role -> (reserved token that stands for it, words its embedding starts from)
ROLES = {
    "system": ("<|reserved_special_token_10|>", "instructions from the system"),
    "user": ("<|reserved_special_token_11|>", "message from the user"),
    "assistant": ("<|reserved_special_token_12|>", "reply from the assistant"),
}
END = ("<|reserved_special_token_13|>", "end of the message")


def role_ids(tokenizer):
    ids = {role: tokenizer.convert_tokens_to_ids(token) for role, (token, _) in ROLES.items()}
    ids["end"] = tokenizer.convert_tokens_to_ids(END[0])
    if None in ids.values() or tokenizer.unk_token_id in ids.values():
        raise ValueError("tokenizer lacks the reserved tokens")
    return ids


def start_role_tokens(tokenizer, model):
    """Start the rows of the role tokens at the mean of the words that describe them."""
    pieces = {
        tokenizer.convert_tokens_to_ids(token): tokenizer(words, add_special_tokens=False).input_ids
        for token, words in [*ROLES.values(), END]
    }
    _average_rows(model.get_input_embeddings().weight, pieces)
    _average_rows(model.get_output_embeddings().weight, pieces)


@torch.no_grad()
def _average_rows(weight, pieces):
    with deepspeed.zero.GatheredParameters([weight]):
        for row, ids in pieces.items():
            weight.data[row] = weight.data[ids].float().mean(dim=0).to(weight.dtype)
