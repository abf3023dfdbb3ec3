"""Data sets of the package."""

from rawlsian.datasets.adult import load_adult

__all__ = ["load_adult"]
