"""Plug-ins, configs, the command line's arguments, records, blocks, run folders and files. No torch."""
