"""Blocks drawn for people: terminal, text, Markdown, LaTeX, pages, figures. No torch."""
