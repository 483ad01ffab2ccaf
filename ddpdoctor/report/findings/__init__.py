"""Pure. Lists of lint findings as text, one format a file: `render(findings, texts) -> str`."""
