# The registry of mechanisms: one line each, in the order in which widgets offer them. Type checkers read these lines
# as imports; `dpviz.mechanisms` reads the names and the files, and loads a file when its mechanism is first used.
# ruff: noqa: I001
from dpviz.mechanisms.dense import Dense as Dense
from dpviz.mechanisms.stability import Stability as Stability
from dpviz.mechanisms.key_selection import KeySelection as KeySelection
from dpviz.mechanisms.pure_sparse import PureSparse as PureSparse
from dpviz.mechanisms.compact import Compact as Compact
from dpviz.mechanisms.tree import Tree as Tree
from dpviz.mechanisms.top_k import TopK as TopK
from dpviz.mechanisms.top_k_laplace import TopKLaplace as TopKLaplace
from dpviz.mechanisms.top_k_set import TopKSet as TopKSet
from dpviz.mechanisms.exponential_top_k import ExponentialTopK as ExponentialTopK
from dpviz.mechanisms.sorted import Sorted as Sorted
from dpviz.mechanisms.queries import Queries as Queries
from dpviz.mechanisms.marginals import Marginals as Marginals
from dpviz.mechanisms.threshold import Threshold as Threshold
from dpviz.mechanisms.alp import ALP as ALP
from dpviz.mechanisms.threshold_alp import ThresholdALP as ThresholdALP
from dpviz.mechanisms.max_projection import MaxProjection as MaxProjection
from dpviz.mechanisms.threshold_max_projection import ThresholdMaxProjection as ThresholdMaxProjection
from dpviz.mechanisms.key_count import KeyCount as KeyCount
from dpviz.mechanisms.sample_category import SampleCategory as SampleCategory
from dpviz.mechanisms.sample_bounded import SampleBounded as SampleBounded
from dpviz.mechanisms.sample_product import SampleProduct as SampleProduct
from dpviz.mechanisms.randomised_record import RandomisedRecord as RandomisedRecord
