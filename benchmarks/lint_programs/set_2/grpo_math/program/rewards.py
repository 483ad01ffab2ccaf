import re

NUM = re.compile(r"-?\d+(?:\.\d+)?")


def last_number(text):
    found = NUM.findall(text.replace(",", ""))
    return float(found[-1]) if found else None


def score(completion, answer):
    """1 for the right number, with a little for using the answer tag."""
    r = 0.0
    m = re.search(r"<answer>(.*?)</answer>", completion, re.S)
    if m:
        r += 0.1
        completion = m.group(1)
    n = last_number(completion)
    if n is not None and abs(n - float(answer)) < 1e-4:
        r += 1.0
    return r
