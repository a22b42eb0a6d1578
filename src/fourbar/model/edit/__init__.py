"""Robots made from robots: pure functions from mechanisms to mechanisms, one idea a file."""
