"""LaTeX formulas as characters on a terminal."""
