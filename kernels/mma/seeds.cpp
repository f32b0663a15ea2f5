#include "kernels/mma/seeds.hpp"

#include "kernels/mma/geometry.hpp"
#include "kernels/mma/rules.hpp"

namespace tilesmith::mma {

std::vector<Config> seeds(const KernelTarget&) { return {}; }

}  // namespace tilesmith::mma
