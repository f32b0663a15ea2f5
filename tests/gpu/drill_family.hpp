// Family `drill`: kernels that go wrong in every way that a candidate can, to see that the run goes on. f64f64 NN only.
#pragma once

#include <memory>

#include "kernels/families/family.hpp"

namespace tilesmith::test {

enum DrillKind {
  kDrillOk = 0,
  kDrillOkToo,  ///< another right kernel
  kDrillCompileError,
  kDrillTooBig,         ///< asks for a megabyte of shared memory
  kDrillFault,          ///< writes far outside every allocation
  kDrillHang,           ///< never ends
  kDrillWrong,          ///< one element off
  kDrillCompilerCrash,  ///< kills the process that compiles it
  kDrillCompilerHang,   ///< the compiler never ends
  kDrillLaunchRefused,  ///< loads, and has a grid that no device launches
  kDrillKinds,
};

std::unique_ptr<Family> make_drill_family();

/// Registers it, once. It supports nothing outside the life of a DrillEnabled, so that tests over all families pass it
/// by.
void register_drill_family();
class [[nodiscard]] DrillEnabled {
 public:
  DrillEnabled();
  ~DrillEnabled();
  DrillEnabled(const DrillEnabled&) = delete;
  DrillEnabled& operator=(const DrillEnabled&) = delete;
};

Config drill_config(DrillKind kind);

}  // namespace tilesmith::test
