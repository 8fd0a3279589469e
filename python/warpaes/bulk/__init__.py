"""Encryption of datasets in object stores or file systems. Many objects are processed in parallel, by one machine or a
Ray cluster.

The command is ``warpaes bulk``. docs/bulk.md lists its guarantees. Requires ``pip install 'warpaes[bulk]'``.
"""
