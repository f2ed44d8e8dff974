"""Verbs: what the product does. A member is a `Config` and a `run(config[, flags])` that yields records.

The last record is a `Result`. Nothing below a verb prints; heavy packages are imported inside `run`, so that help,
listings and errors in a config answer at once. The lines of a verb's docstring that begin with
`vitruvius` are commands that work.
"""
