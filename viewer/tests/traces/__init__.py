"""Traces for the viewer's tests, written without Pellucid."""
