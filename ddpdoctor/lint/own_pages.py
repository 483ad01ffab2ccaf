"""Pages of what the engine itself finds: about comments, and about files that it cannot read."""

from __future__ import annotations

INEFFECTIVE = """A comment for ddpdoctor that does nothing

## What it does
Finds comments that begin with `# ddpdoctor:` and have no effect: a word that is not known, an expression that is no
Python, or one that does not occur in the statement that the comment is about, an `ignore` whose codes have no brackets
or whose brackets have no code.

## Why it harms
Whoever wrote the comment relies on it.

## Example
```python
stop = consensus(state)  # ddpdoctor: unifrom(stop)
```

## Use instead
```python
stop = consensus(state)  # ddpdoctor: uniform(stop)
```

## Fix safety
No automatic fix.

## When it is wrong
Where the words stand in a comment by chance.

## References
docs/lint.md, "Comments"
"""

UNUSED = """A comment that silences nothing

## What it does
Finds `# ddpdoctor: ignore[...]` and `# noqa: DD1..` where there is no finding of these codes on the lines that it
covers, and single codes in them that silence nothing. A code is judged only where its rule was run.

## Why it harms
It hides the next finding that comes there, which nobody has looked at.

## Example
```python
dist.barrier()  # ddpdoctor: ignore[DD111] all ranks come here since last year
```

## Use instead
```python
dist.barrier()
```

## Fix safety
No automatic fix.

## When it is wrong
Where the finding depends on `--torch-version` or on which files are there. Of `noqa` comments only codes of ddpdoctor
are reported: the others are for other linters.

## References
docs/lint.md, "Comments"
"""

UNREADABLE = """A file that cannot be read as Python

## What it does
Reports a file that does not parse or cannot be decoded, with the line; one that is over 4 MB; and one that nests so
deeply that not all of it could be analysed.

## Why it harms
Nothing is known about it, which is not the same as nothing found.

## Example
```python
print "hello"
```

## Use instead
```python
print("hello")
```

## Fix safety
No automatic fix.

## When it is wrong
For a file in a newer Python than the one that runs ddpdoctor. `exclude` leaves out what is generated or a template.

## References
https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations
"""
