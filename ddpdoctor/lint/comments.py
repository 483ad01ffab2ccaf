"""The comments of a file as Python's tokenizer sees them, without strings that look like comments. Pure."""

from __future__ import annotations

import io
import tokenize

from ddpdoctor.model.record import record


@record(frozen=True, slots=True)
class Comment:
    """One comment; line from 1, column from 0 in characters."""

    text: str
    line: int
    column: int
    #: the line contains only the comment
    alone: bool


def read(text: str) -> list[Comment]:
    """Every comment, up to where the text cannot be tokenized."""
    found: list[Comment] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                found.append(Comment(token.string, line, column, not token.line[:column].strip()))
    except (tokenize.TokenError, SyntaxError, RecursionError):
        return found
    return found
