#include "kernels/simt/simt.hpp"
