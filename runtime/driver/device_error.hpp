// What a failed driver call is told as.
#pragma once

#include <stdexcept>
#include <string>

namespace tilesmith::runtime {

class DeviceError : public std::runtime_error {
 public:
  DeviceError(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  int code() const { return code_; }  ///< CUresult
  /// True if the context is lost (illegal access, illegal instruction, launch time-out, ...): the process must not
  /// use the device again.
  bool context_lost() const;
  /// True if the device, or the driver on the host, had no memory left.
  bool out_of_memory() const;

 private:
  int code_;
};

}  // namespace tilesmith::runtime
