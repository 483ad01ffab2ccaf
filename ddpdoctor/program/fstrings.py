"""F-strings of Python 3.12 and later, written so that an older parser reads them: quotes of the same kind, line breaks
and backslashes in what they contain. Pure.

Lines stay as they are; in a line with such a string the columns behind its beginning are off by a few characters, and
a backslash in an expression is read as a slash.
"""

from __future__ import annotations

from ddpdoctor.model.late_pattern import late_pattern

#: a comment, or the beginning of a string with its prefix
_TOKEN = late_pattern(r"#[^\n]*|(?<![\w])([rRbBuUfF]{0,2})(\"\"\"|'''|\"|')")
_PREFIX = late_pattern(r"(?<!\w)([rRbBuUfF]{1,2})$")


class _UnendedError(Exception):
    """A string or an expression in it does not end."""


def for_older_parsers(text: str) -> str:
    """The source with such strings in triple quotes; unchanged where it cannot be followed."""
    parts: list[str] = []
    done = 0
    try:
        while (found := _TOKEN.search(text, done)) is not None:
            parts.append(text[done : found.start()])
            done = found.end()
            if found.group(2) is None:
                parts.append(found.group())
                continue
            string = _String(text, found.start(2), found.group(1))
            done = string.end
            parts.append(found.group(1) + string.rewritten())
    except (_UnendedError, RecursionError):
        return text
    return "".join((*parts, text[done:]))


class _String:
    """A string literal, followed to its end by the rules of Python 3.12."""

    def __init__(self, text: str, start: int, prefix: str) -> None:
        self._text = text
        self._start = start
        opening = text[start : start + 3]
        self.quote = opening if opening in ('"""', "'''") else text[start]
        self._formats = "f" in prefix.lower()
        #: where expressions in it contain a string with the same quotes, or a backslash
        self._nested: list[_String] = []
        self._backslashes: list[int] = []
        self.end = self._followed()

    def rewritten(self) -> str:
        """The literal without its prefix, as an older parser needs it."""
        whole = self._text[self._start : self.end]
        breaks = len(self.quote) == 1 and self._formats and "\n" in whole.replace("\\\n", "")
        same = len(self.quote) == 1 and any(inner.quote == self.quote for inner in self._nested)
        for at in self._backslashes:
            whole = f"{whole[: at - self._start]}/{whole[at - self._start + 1 :]}"
        return f"{self.quote * 2}{whole}{self.quote * 2}" if breaks or same else whole

    def _followed(self) -> int:
        text, at = self._text, self._start + len(self.quote)
        while at < len(text):
            if text.startswith(self.quote, at):
                return at + len(self.quote)
            if text[at] == "\\":
                at = text.find("}", at) + 1 if self._formats and text.startswith("\\N{", at) else at + 2
            elif text[at] == "{" and self._formats:
                at = at + 2 if text.startswith("{{", at) else self._behind_expression(at + 1)
            elif text[at] == "\n" and len(self.quote) == 1:
                break
            else:
                at += 1
        raise _UnendedError

    def _behind_expression(self, at: int) -> int:
        """The place behind the brace that ends an expression."""
        text, depth = self._text, 0
        while at < len(text):
            sign = text[at]
            if sign in "\"'":
                before = _PREFIX.search(text, max(at - 3, 0), at)
                inner = _String(text, at, before.group(1) if before is not None else "")
                self._nested.append(inner)
                self._backslashes += [n for n in range(at, inner.end) if text[n] == "\\"]
                at = inner.end
                continue
            if sign == "}" and depth == 0:
                return at + 1
            if sign == ":" and depth == 0:
                return self._behind_format(at + 1)
            depth += (sign in "([{") - (sign in ")]}")
            at += 1
        raise _UnendedError

    def _behind_format(self, at: int) -> int:
        """The same from where the expression's format begins, which is text with expressions of its own."""
        while at < len(self._text):
            if self._text[at] == "{":
                at = self._behind_expression(at + 1)
            elif self._text[at] == "}":
                return at + 1
            elif self._text.startswith(self.quote, at):
                break
            else:
                at += 1
        raise _UnendedError
