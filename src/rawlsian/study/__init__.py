"""The paper's study, whole: a configuration in, results, figures and a report out.

Stage 1 describes the data. Stage 2 runs k-means many times on every sample and asks
whether a clustering exists that serves the less advantaged group better than the
utilitarian one. Stage 3 walks from the utilitarian point of the sample shown. Stage 4
does so on all samples. Stage 5 goes beyond the paper: operators and solvers that reach
further, and bounds. Stage 6 sets each claim of the paper beside what was measured.
"""

from __future__ import annotations

from rawlsian.study.folder import OutputFolderError
from rawlsian.study.run import Progress, StudyConfig, run_study

__all__ = ["OutputFolderError", "Progress", "StudyConfig", "run_study"]
