"""Teaching: a lesson worked, proved and written down as a document."""
