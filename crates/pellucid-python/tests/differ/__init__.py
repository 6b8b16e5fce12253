"""The differential suite: the same calls to the published mlx and to Pellucid, and what may differ.

`values` makes inputs, the `cases_*` modules are tables of calls, `outcome` runs a call, `tolerance` says how close is
close enough, `differences` where Pellucid differs on purpose, `oracle` asks NumPy where the two disagree.
"""
