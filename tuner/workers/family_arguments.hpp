// How worker processes get the families of one's own: as options --family-dir FOLDER --family-content HASH, a pair for
// each folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilesmith::tuner {

/// A worker's arguments, with those for every family that this process has loaded.
std::vector<std::string> with_family_dirs(std::vector<std::string> arguments);

/// The worker's side: takes the options in their order.
class FamilyArguments {
 public:
  /// False if it is none of the two options.
  bool take(std::string_view option, std::string_view value);

  /// Loads the folders. Empty, or why a family cannot be used: that the folder changed since the tuner read it, too.
  /// What such a worker would compile or launch is not what the record is of.
  std::string load() const;

 private:
  struct Folder {
    std::string path, content;
  };
  std::vector<Folder> folders_;
};

}  // namespace tilesmith::tuner
