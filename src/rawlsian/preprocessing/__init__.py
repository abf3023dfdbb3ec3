"""Mixed tables as numbers: every attribute sets two rows at most 1 apart."""

from __future__ import annotations

from rawlsian.preprocessing.encoder import UnitDistanceEncoder
from rawlsian.preprocessing.features import Attribute

__all__ = ["Attribute", "UnitDistanceEncoder"]
