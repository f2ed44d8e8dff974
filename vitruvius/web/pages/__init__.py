"""The pages: one file each, with its addresses in `ROUTES`."""
