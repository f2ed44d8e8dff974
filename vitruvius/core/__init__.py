"""What everything else is built on: plug-ins, configs, records, run folders, networks as data. No torch."""
