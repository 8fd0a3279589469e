"""Datasets on object storage or file systems, encrypted as many objects at once, by one machine or a Ray cluster.

``warpaes bulk`` is the way in; docs/bulk.md says what it promises. Needs ``pip install 'warpaes[bulk]'``.
"""
