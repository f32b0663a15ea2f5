// How far recorded entries count today, and which of several do.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/store/record.hpp"

namespace tilesmith::db {

/// How far an entry can be trusted by a given environment.
enum class Trust {
  valid,      ///< same plan hash, compiler options, NVRTC, driver and policy
  reverify,   ///< the driver or NVRTC changed: verify again, then use
  remeasure,  ///< the measuring policy changed, or it is a trial: the kernel is the same, its time compares within its own policy alone
  retired,    ///< the plan hash or the options changed
};

/// Today's plan hash of the config and problem decides, too.
Trust judge(const Record& entry, const Environment& now);
/// By the environments alone, whatever became of the kernels.
Trust judge_environment(const Environment& entry, const Environment& now);
std::string_view name(Trust trust);

/// Which of two entries of a candidate counts: the later one; a trial only beside another trial.
bool supersedes(const Record& a, const Record& b);

struct Judged {
  const Record* entry;
  Trust trust;
};
/// Keeps, of one problem's entries with times, those that compare: of today's measuring policy if there are any, else
/// of the latest's.
void keep_comparable(std::vector<Judged>& entries);

/// The families, in alphabetical order, that this process does not know: of one's own (kernels/families/user) that were
/// not loaded, or of another build. Their records are kept, listed and passed over.
std::vector<std::string> families_not_loaded(std::span<const Record> entries);
/// One line that names them and what brings them; empty for none.
std::string not_loaded_text(const std::vector<std::string>& families);

}  // namespace tilesmith::db
