// What is told of former evidence and kernels: until schema 5 they rested on a hash of their family's files, a template hash. Where that is
// the last there was, they are today's, as long as today's program still makes of the family what was made then.
#pragma once

#include <string>
#include <string_view>

#include "db/sqlite.hpp"
#include "kernels/config.hpp"
#include "kernels/problem.hpp"

namespace tilesmith::db {

/// Today's plan hash of the config and problem, if it was made then as it is now; else what stands for former templates: digits of their
/// hash, which are no plan's.
std::string carried_plan_hash(const Config& config, const Problem& problem, std::string_view template_hash, std::string_view options);
/// The same of a kernel.
std::string carried_kernel_hash(const Config& config, const KernelSignature& signature, std::string_view template_hash,
                                std::string_view options);

/// The same for SQL: carried_plan_hash(config, problem, template_hash, options), carried_kernel_hash(config, type, trans, template_hash,
/// options), all of them texts.
void add_carrying_functions(const Database& database);

/// Rows of evidence, builds and proofs that tell of the machine, not of a candidate (Outcome::by_machine): versions before schema 6
/// recorded them. An SQL condition.
extern const std::string_view kFailedByMachine;

/// A database of this former schema reads as one of today: until it is closed, temporary views stand for tables that differ,
/// and empty tables for those that it lacks.
void read_as_of_today(const Database& database, int version);

}  // namespace tilesmith::db
