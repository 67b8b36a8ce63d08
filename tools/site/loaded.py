"""The packages that pages use, loaded once for all processes that run cells."""

import altair as altair
import duckdb as duckdb
import ibis as ibis
import pandas as pandas
import vl_convert as vl_convert
from IPython.core import displayhook as displayhook
from IPython.core import interactiveshell as interactiveshell
from IPython.utils import capture as capture

import dpviz
from dpviz import mechanisms

for _name in [*dpviz.__all__]:
    getattr(dpviz, _name)
__all__ = [*mechanisms.NAMES]
