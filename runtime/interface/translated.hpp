// What is thrown within the library, as what leaves it.
#pragma once

#include <cuda.h>

#include <new>
#include <stdexcept>

#include "db/store/store.hpp"
#include "kernels/families/user/template_text.hpp"
#include "runtime/driver/device_error.hpp"
#include "runtime/interface/gemm.hpp"

namespace tilesmith::runtime {

/// Everything that leaves the interface is an Error or std::bad_alloc.
template <typename Call>
auto translated(Call&& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const db::StoreError& error) {
    throw Error(ErrorCode::bad_database, error.what());
  } catch (const DeviceError& error) {
    throw Error(
        error.code() == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::out_of_memory : ErrorCode::device_failed, error.what());
  } catch (const std::invalid_argument& error) {
    throw Error(ErrorCode::bad_argument, error.what());
  } catch (const DefinitionError& error) {
    throw Error(ErrorCode::bad_argument, error.what());
  } catch (const std::exception& error) {
    throw Error(ErrorCode::internal, error.what());
  }
}

}  // namespace tilesmith::runtime
