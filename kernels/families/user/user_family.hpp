// A family of one's own: a template and what family.json says of it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/families/family.hpp"
#include "kernels/families/user/parts.hpp"
#include "kernels/families/user/template_text.hpp"

namespace tilesmith {

/// What an expression reads besides types, transposes and parameters. Slots of fixed names come first, then a slot for
/// each parameter.
struct UserReads {
  bool device = false, problem = false;
};
std::vector<ExpressionName> user_names(const std::vector<Parameter>& parameters, UserReads reads);
/// A name that a parameter cannot have: another value, or a constant of the rendered source, has it.
bool is_taken_name(const std::string& name);

struct UserRefusal {
  std::string reason;
  Expression when;
};

/// All that is known of the family, checked.
struct UserFamilyParts {
  std::string name, summary;
  std::string text;     ///< of the template, with the files that it includes (template_text.hpp)
  std::string content;  ///< a hash of family.json and the text
  std::vector<TypePair> types;
  std::vector<Transposes> transposes;
  int min_sm = 80;
  std::vector<Parameter> parameters;
  std::vector<UserRule> rules;
  std::vector<UserRefusal> refusals;
  std::vector<UserLaunch> launches;
  Expression workspace_bytes;
  bool deterministic = true;
  std::vector<Config> initial_configs;
  std::optional<Expression> estimate_cycles;
};

class UserFamily final : public Family {
 public:
  explicit UserFamily(UserFamilyParts parts) : parts_(std::make_shared<const UserFamilyParts>(std::move(parts))) {}

  std::string_view name() const override { return parts_->name; }
  std::string_view summary() const override { return parts_->summary; }
  const std::string& content() const { return parts_->content; }

  bool supports(const KernelTarget& target) const override;
  std::vector<Parameter> parameters(const KernelTarget&) const override { return parts_->parameters; }
  /// Those of the file; then that a block's threads and its shared memory are what the device allows, where no problem
  /// is needed to tell.
  std::vector<Rule> rules(const KernelTarget& target) const override;
  /// Those of the file; then that the launches can be launched.
  std::optional<std::string> refusal(const Config& config, const Problem& problem) const override;
  LaunchSequence launches(const Config& config, const Problem& problem) const override;
  std::string source(const Config& config, const KernelTarget& target) const override;
  bool deterministic(const Config&) const override { return parts_->deterministic; }
  bool needs_proof() const override { return true; }
  std::optional<Estimate> estimate(
      const Config& config, const KernelTarget& target, const Problem& problem) const override;
  std::vector<Config> initial_configs(const KernelTarget& target) const override;

 private:
  std::shared_ptr<const UserFamilyParts> parts_;  // rules keep it, too
};

/// From `folder`/family.json and the template that it names. All is checked here. Throws DefinitionError naming file and
/// field.
std::unique_ptr<UserFamily> read_family(const std::filesystem::path& folder);

}  // namespace tilesmith
