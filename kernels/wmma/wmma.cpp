#include "kernels/wmma/wmma.hpp"
