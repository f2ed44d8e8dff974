"""Verbs: the commands of the product. A member is a `Config` and a `run(config, flags)` that yields records.

The last record is a `Result`. Nothing inside a verb prints or asks for input; heavy packages are imported
inside `run`, so that help, listings and errors in a config answer at once. The lines of a verb's docstring
that begin with `vitruvius` are commands that work.
"""
