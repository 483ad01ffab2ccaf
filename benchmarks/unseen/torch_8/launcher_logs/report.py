"""Plain text tables for the run log."""


def outlier_table(rows, limits):
    lines = [f"{'row':>5} {'sensor':>8} {'value':>12} {'limit':>12}"]
    for r, row in enumerate(rows.tolist()):
        for c, value in enumerate(row):
            if abs(value) > limits:
                lines.append(f"{r:5d} {'s%02d' % c:>8} {value:12.4f} {limits:12.4f}")
    return lines


def show_outliers(step, rows, limits=3.5):
    lines = outlier_table(rows, limits)
    if len(lines) == 1:
        return 0
    print(f"[step {step}] values outside the calibrated range", flush=True)
    print("\n".join(lines), flush=True)
    return len(lines) - 1
