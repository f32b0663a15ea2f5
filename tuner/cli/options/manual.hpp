// Manual pages (man(7)), made from the program's own option tables.
#pragma once

#include <string>
#include <vector>

#include "tuner/cli/options/option_tables.hpp"

namespace tilesmith::tuner {

/// The page of one command; of the program itself for its own name. Throws UsageError for a command that is not there.
std::string manual_page(const std::string& name, const std::vector<CommandTable>& commands);

}  // namespace tilesmith::tuner
