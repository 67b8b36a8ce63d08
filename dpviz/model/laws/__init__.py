"""The laws that answers were drawn from, one file each, and the registry that reads them by name and version.

A file is loaded when its law is first used.
"""

from __future__ import annotations

from dpviz.model.laws.base import LAWS, Stored, StoredLaw, law_from_json, stored, unregister

__all__ = ["LAWS", "Stored", "StoredLaw", "law_from_json", "stored", "unregister"]
