"""Reads `id<TAB>reference<TAB>hypothesis` lines; prints an alignment of each pair and the WER."""
import sys

wrong = total = 0
for line in sys.stdin:
    utt, ref, hyp = line.rstrip("\n").split("\t")
    ref, hyp = ref.split(), hyp.split()
    marks = [" " * len(r) if r == h else "S" * len(r) for r, h in zip(ref, hyp)]
    wrong += sum(r != h for r, h in zip(ref, hyp))
    total += len(ref)
    print("id:  ", utt)
    print("REF: ", " ".join(ref))
    print("HYP: ", " ".join(hyp))
    print("Eval:", " ".join(marks))
print("WER", 100.0 * wrong / max(total, 1))
