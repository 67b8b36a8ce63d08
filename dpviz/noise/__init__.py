"""Exact samplers. They know nothing of the laws that predict them; comparing the two is a test."""
