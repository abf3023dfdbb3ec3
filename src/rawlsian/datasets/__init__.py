"""Data sets that come with the package."""

from rawlsian.datasets._adult import load_adult

__all__ = ["load_adult"]
