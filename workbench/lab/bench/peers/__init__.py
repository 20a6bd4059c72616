"""The engines of the benchmark. Each peer is imported when its class is made."""
