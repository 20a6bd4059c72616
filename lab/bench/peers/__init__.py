"""Adapters of the engines that the benchmark compares."""
