"""Datasets on object storage or file systems, encrypted as many objects at once, by one machine or a Ray cluster.

The command is ``warpaes bulk``; docs/bulk.md lists its guarantees. Needs ``pip install 'warpaes[bulk]'``.
"""
