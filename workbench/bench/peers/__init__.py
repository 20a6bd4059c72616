"""The engines of the benchmark, one module each: how a case is handed to it and a mask taken out.

Each module imports its engine when its class is made, so none has to be installed.
"""
