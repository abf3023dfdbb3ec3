"""The paper's study: results, figures and a report from a configuration.

Stage 1 describes the data. Stage 2 runs k-means many times on every sample and checks
whether some run serves the less advantaged group better than the utilitarian one.
Stage 3 traverses from the utilitarian point of one sample, stage 4 from those of all
samples. Stage 5 goes beyond the paper: more operators, solvers and bounds. Stage 6
compares each claim of the paper with the measurements.
"""

from __future__ import annotations

from rawlsian.study.folder import OutputFolderError
from rawlsian.study.run import Progress, StudyConfig, run_study

__all__ = ["OutputFolderError", "Progress", "StudyConfig", "run_study"]
