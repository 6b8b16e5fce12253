from pellucid import core as core
from pellucid import mlx as mlx
from pellucid import nn as nn
from pellucid import optimizers as optimizers
from pellucid import trace as trace
from pellucid import utils as utils
from pellucid._capture import capture as capture
from pellucid._view import view as view

__version__: str
__all__: list[str]
