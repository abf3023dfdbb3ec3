"""
A pipeline with ColumnTransformer
=================================

Numbers are scaled, categories become one-hot columns, and the groups reach the last
step by scikit-learn's metadata routing. ``OneHotEncoder`` returns a sparse matrix,
which ``RawlsianKMeans`` takes as it is.
"""

# %%
# The table of the Adult sample has numbers and text.

import pandas as pd
import sklearn
from scipy.sparse import issparse
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from rawlsian import FairLloyd, RawlsianKMeans, load_adult

sklearn.set_config(enable_metadata_routing=True)
adult = load_adult(sample=200, random_state=0)
columns = ["age", "hours-per-week", "workclass", "occupation"]
people, sex = pd.DataFrame(adult.table)[columns], adult.sensitive_features

# %%
# ``sparse_threshold=1`` keeps the output sparse although the numbers are not.

encode = make_column_transformer(
    (MinMaxScaler(), ["age", "hours-per-week"]),
    (OneHotEncoder(), ["workclass", "occupation"]),
    sparse_threshold=1,
)
fair = RawlsianKMeans(4, n_crossings=50, pooling=0, random_state=0, verbose=1)
fair.set_fit_request(sensitive_features=True)
pipeline = make_pipeline(encode, fair).fit(people, sensitive_features=sex)
print("sparse:", issparse(pipeline[:-1].transform(people)))
print(dict(zip(fair.groups_.tolist(), fair.group_costs_.round(4), strict=True)))

# %%
# The fitted pipeline places new people.

print(pipeline.predict(people.head(5)))

# %%
# ``score`` is minus the cost of the worst-off group, so a grid search needs no scoring
# of its own. Here it compares numbers of starts on people who were left out.

lloyd = FairLloyd(4, random_state=0)
lloyd.set_fit_request(sensitive_features=True).set_score_request(
    sensitive_features=True
)
search = GridSearchCV(
    make_pipeline(encode, lloyd), {"fairlloyd__n_init": [1, 10]}, cv=3
)
search.fit(people, sensitive_features=sex)
print(search.best_params_, round(search.best_score_, 4))
sklearn.set_config(enable_metadata_routing=False)
