"""Exact distributions: what a sampler should do, written without looking at how it does it."""
