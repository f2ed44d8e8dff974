"""What a network costs on this machine: latency, throughput, memory, start-up and energy, measured."""
