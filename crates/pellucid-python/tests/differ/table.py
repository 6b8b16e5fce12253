"""All cases, by function."""

import functools

from differ import (
    cases_array, cases_bad, cases_conv, cases_create, cases_elementwise, cases_fast, cases_fft, cases_fuzz, cases_index, cases_linalg,
    cases_products, cases_quantized, cases_random, cases_reduce, cases_sets, cases_shape,
)

MODULES = (
    cases_elementwise, cases_reduce, cases_shape, cases_index, cases_fuzz, cases_create, cases_products, cases_random, cases_array,
    cases_bad, cases_conv, cases_quantized, cases_fast, cases_fft, cases_linalg, cases_sets,
)


@functools.cache
def by_function():
    table = {}
    for module in MODULES:
        for item in module.cases():
            table.setdefault(item.function, []).append(item)
    return table
