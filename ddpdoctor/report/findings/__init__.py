"""Pure. Renders lists of lint findings, one format per file: `render(findings, texts) -> str`."""
