"""Documentation of the engine's own findings: about comments, and about files that it cannot read."""

from __future__ import annotations

INEFFECTIVE = """A ddpdoctor comment without effect

## What it does
Finds comments that begin with `# ddpdoctor:` and have no effect: an unknown word, an expression that is not valid
Python or does not occur in the statement that the comment applies to, an `ignore` with codes outside brackets or with
empty brackets.

## Why it harms
The author of the comment relies on it.

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
When the words are in a comment by coincidence.

## References
Codes stand in brackets, `# ddpdoctor: ignore[DD111] reason`; facts in parentheses, `# ddpdoctor: uniform(NAME)`.
"""

UNUSED = """A comment that suppresses nothing

## What it does
Finds `# ddpdoctor: ignore[...]` and `# noqa: DD1..` without a finding of these codes on the lines that they cover, and
single codes in them that suppress nothing. A code is checked only if its rule was run.

## Why it harms
It hides the next finding at that place, which has not been reviewed.

## Example
```python
dist.barrier()  # ddpdoctor: ignore[DD111] all ranks get here since last year
```

## Use instead
```python
dist.barrier()
```

## Fix safety
No automatic fix.

## When it is wrong
When the finding depends on `--torch-version` or on which files exist. In `noqa` comments only codes of ddpdoctor are
checked; the others are for other linters.

## References
Codes stand in brackets, `# ddpdoctor: ignore[DD111] reason`; facts in parentheses, `# ddpdoctor: uniform(NAME)`.
"""

UNREADABLE = """A file that cannot be read as Python

## What it does
Reports a file that does not parse or cannot be decoded, with the line; a file larger than 4 MB; and a file that nests
so deeply that not all of it could be analysed.

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
When the file is written for a newer Python than the one that runs ddpdoctor; of Python 3.12 the f-strings are read. Use
`exclude` for generated files and templates. A file that nobody runs as it is, by its name or its folder's (a template,
a step of an exercise, what was put into `old`), is a hint, as is one that imports what only runs on Python 3.6.

## References
https://docs.python.org/3/reference/lexical_analysis.html#encoding-declarations
"""
