// Family `wmma` for operands below a byte: a template of its own (sub_byte.cu), with a small space.
#pragma once

#include <vector>

#include "kernels/families/family.hpp"

namespace tilesmith::wmma {

std::vector<Parameter> sub_byte_parameters();
std::vector<Rule> sub_byte_rules();
std::vector<Config> sub_byte_configs();
LaunchSequence sub_byte_launches(const Config& config, const Problem& problem);

}  // namespace tilesmith::wmma
