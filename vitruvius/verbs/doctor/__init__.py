"""Say what is wrong with a training: in which line, by which numbers, and how to fix it."""
