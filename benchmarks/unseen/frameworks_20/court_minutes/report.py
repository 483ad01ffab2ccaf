"""Prints the history of every examined paragraph, worst first. Usage: report.py HISTORY.json"""

import json
import sys


def bar(value, width=20):
    """A value between 0 and 1 as a bar of characters."""
    full = min(width, max(0, round(value * width)))
    return "#" * full + "." * (width - full)


def lines(history):
    """One line for each paragraph in each evaluation."""
    last = history[-1]["losses"]
    order = sorted(range(len(last)), key=lambda i: -last[i])
    for paragraph in order:
        for entry in history:
            loss = entry["losses"][paragraph]
            yield f"paragraph {paragraph:5d}  step {entry['step']:6d}  loss {loss:8.4f}  {bar(loss)}\n"


def summary(history):
    """The mean and the worst loss of each evaluation."""
    for entry in history:
        losses = entry["losses"]
        mean = sum(losses) / len(losses)
        yield f"step {entry['step']:6d}: mean {mean:.4f}, worst {max(losses):.4f}\n"


def main(out=sys.stdout):
    with open(sys.argv[1]) as file:
        history = json.load(file)
    for line in lines(history):
        out.write(line)
    out.writelines(summary(history))
    return 0


if __name__ == "__main__":
    sys.exit(main())
