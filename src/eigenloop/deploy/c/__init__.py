"""An integer network as C99 for microcontrollers: constants, kernels, layers, and the files that hold them."""
