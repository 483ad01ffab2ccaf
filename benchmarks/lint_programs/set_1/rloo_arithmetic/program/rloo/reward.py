import re

_NUMBER = re.compile(r"-?\d[\d,]*")


def exact_answer(text: str, answer: int) -> float:
    found = _NUMBER.findall(text)
    if not found:
        return -0.2
    return float(int(found[-1].replace(",", "")) == answer)


def leave_one_out(rewards):
    """rewards (P, K) -> advantages (P, K)"""
    k = rewards.shape[1]
    baseline = (rewards.sum(dim=1, keepdim=True) - rewards) / (k - 1)
    return rewards - baseline
