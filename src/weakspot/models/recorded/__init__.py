"""Answers and vectors that were recorded before."""
