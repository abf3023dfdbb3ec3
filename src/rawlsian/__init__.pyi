"""The public names, each with the module that defines it. This is the only list."""

from rawlsian import (
    bounds as bounds,
    datasets as datasets,
    metrics as metrics,
    operators as operators,
    plotting as plotting,
    preprocessing as preprocessing,
    report as report,
    study as study,
)
from rawlsian._core.assignment import (
    Assignment as Assignment,
)
from rawlsian._estimators.fair_lloyd import (
    FairLloyd as FairLloyd,
)
from rawlsian._estimators.kmeans import (
    RawlsianKMeans as RawlsianKMeans,
)
from rawlsian._estimators.pooling_cv import (
    PoolingChoice as PoolingChoice,
)
from rawlsian._estimators.postprocessor import (
    RawlsianPostprocessor as RawlsianPostprocessor,
)
from rawlsian._estimators.traverse import (
    traverse as traverse,
)
from rawlsian._outofcore.problem import (
    PassStep as PassStep,
)
from rawlsian._outofcore.walk import (
    LargeTrajectory as LargeTrajectory,
)
from rawlsian._rows.blocks import (
    Blocks as Blocks,
)
from rawlsian._rows.opening import (
    open_blocks as open_blocks,
)
from rawlsian._search.crossing import (
    SearchStep as SearchStep,
)
from rawlsian._search.frontier import (
    Frontier as Frontier,
    frontier as frontier,
)
from rawlsian._search.restarts import (
    Restarts as Restarts,
    kmeans_restarts as kmeans_restarts,
)
from rawlsian._tables.audit_result import (
    TableAudit as TableAudit,
)
from rawlsian._tables.functions import (
    audit_table as audit_table,
    fit_table as fit_table,
    predict_table as predict_table,
)
from rawlsian._tables.results import (
    TableFit as TableFit,
    TablePrediction as TablePrediction,
)
from rawlsian._version import (
    __version__ as __version__,
)
from rawlsian.bounds import (
    Bound as Bound,
    BoundStep as BoundStep,
    Certificate as Certificate,
    check_certificate as check_certificate,
    group_bound as group_bound,
    proved_bound as proved_bound,
)
from rawlsian.datasets import (
    load_adult as load_adult,
    load_bank as load_bank,
    load_credit as load_credit,
)
from rawlsian.metrics import (
    Audit as Audit,
    HeldOut as HeldOut,
    Stability as Stability,
    audit as audit,
    group_utilities as group_utilities,
    held_out as held_out,
    least_advantaged as least_advantaged,
    skyline as skyline,
    stability as stability,
    utility_gap as utility_gap,
    utility_ratio as utility_ratio,
)
from rawlsian.operators import (
    AnyOf as AnyOf,
    FirstOf as FirstOf,
    Rawls as Rawls,
)
from rawlsian.operators.batch import (
    Batch as Batch,
)
from rawlsian.operators.proposals import (
    Operator as Operator,
    Proposals as Proposals,
    select as select,
)
from rawlsian.operators.r1_r2 import (
    R1 as R1,
    R2 as R2,
    R2Exhaustive as R2Exhaustive,
)
from rawlsian.operators.relocate import (
    Relocate as Relocate,
)
from rawlsian.operators.traversal import (
    Operation as Operation,
    Step as Step,
    Trajectory as Trajectory,
)
from rawlsian.plotting import (
    plot_audit as plot_audit,
    plot_bound as plot_bound,
    plot_crosshairs as plot_crosshairs,
    plot_frontier as plot_frontier,
    plot_gains as plot_gains,
    plot_iterations as plot_iterations,
    plot_trajectory as plot_trajectory,
    plot_utility_space as plot_utility_space,
)
from rawlsian.preprocessing import (
    UnitDistanceEncoder as UnitDistanceEncoder,
)
from rawlsian.study.run import (
    StudyConfig as StudyConfig,
    run_study as run_study,
)
