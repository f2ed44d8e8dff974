"""Make exercise sheets with other numbers for every student, and grade what they hand in."""
