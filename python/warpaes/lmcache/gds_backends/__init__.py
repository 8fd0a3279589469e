"""Backends for LMCache's GDS L1. ``warpaes.lmcache`` adds this folder to LMCache's package of backends."""
