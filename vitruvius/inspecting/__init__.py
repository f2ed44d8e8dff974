"""A look at data before anything is trained: their table, examples, and pictures that two parts share."""
