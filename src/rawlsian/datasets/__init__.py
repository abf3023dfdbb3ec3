"""Data sets of the package."""

from rawlsian.datasets.adult import load_adult
from rawlsian.datasets.bank import load_bank
from rawlsian.datasets.credit import load_credit

__all__ = ["load_adult", "load_bank", "load_credit"]
