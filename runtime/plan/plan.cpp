#include "runtime/plan/plan.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "kernels/shared/finish/paired_columns.cuh"
#include "kernels/shared/multiply/weights_layout.cuh"
#include "runtime/driver/driver.hpp"
#include "runtime/plan/captured_order.hpp"
#include "runtime/plan/prepare_launch.hpp"

namespace tilesmith::runtime {
namespace {

constexpr std::size_t kWorkspaceAlignBytes = 256;
constexpr int kCodeWordBytes = 8;  // of the elements by which codes of weights are copied

bool is_zero(Scalar type, const Scale& scale) noexcept {
  return type == Scalar::f64 ? scale.f64 == 0 : type == Scalar::s32 ? scale.s32 == 0 : scale.f32 == 0;
}

bool is_aligned(const void* pointer, std::size_t align_bytes) noexcept {
  return (reinterpret_cast<std::uintptr_t>(pointer) & (align_bytes - 1)) == 0;
}

const Family& family_of(const Config& config) {
  const Family* family = find_family(config.family());
  if (family == nullptr) throw std::invalid_argument(fmt::format("plan: there is no family '{}'", config.family()));
  return *family;
}

CUtensorMap* as_driver_map(TensorMap& map) { return reinterpret_cast<CUtensorMap*>(&map); }

/// How the tensor memory accelerator moves elements: as they are, so that only their width counts, but for operands of
/// tf32.
CUtensorMapDataType map_type(Scalar element) {
  if (element == Scalar::tf32) return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  const std::size_t bytes = size_bytes(element);
  return bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
         : bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                      : CU_TENSOR_MAP_DATA_TYPE_UINT32;
}

/// The map of a matrix that is copied in boxes, for put_address(). Throws DeviceError.
TensorMap make_map(const Driver& driver, const OperandSource& matrix, const TensorBox& box, Scalar element) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= alignof(CUtensorMap));
  TensorMap map;
  void* const no_matrix =
      reinterpret_cast<void*>(std::uintptr_t{kWorkspaceAlignBytes});  // only its alignment is looked at
  const std::size_t element_bytes = size_bytes(element);
  const auto row_bytes = box.code_blocks ? cuuint64_t(box.matrix_cols) * kCodeBlockBytes
                                         : cuuint64_t(matrix.row_stride) * element_bytes,
             entry_bytes = cuuint64_t(matrix.entry_stride) * element_bytes;
  cuuint64_t strides[4], sizes[5] = {cuuint64_t(box.matrix_cols)};
  cuuint32_t box_sizes[5] = {cuuint32_t(box.cols)}, dimensions = 1;
  const cuuint32_t steps[] = {1, 1, 1, 1, 1};
  const auto add = [&](cuuint64_t stride, std::int64_t size, int of_box) {
    strides[dimensions - 1] = stride;
    sizes[dimensions] = cuuint64_t(size);
    box_sizes[dimensions++] = cuuint32_t(of_box);
  };
  if (box.code_blocks) {
    sizes[0] = box_sizes[0] = kCodeBlockBytes / kCodeWordBytes;
    add(kCodeBlockBytes, box.matrix_cols, box.cols);
  }
  if (box.pairs == PairedRows::none) {
    add(row_bytes, box.matrix_rows, box.rows);
  } else {
    const bool split = box.pairs == PairedRows::split;
    add(split ? row_bytes : 2 * row_bytes, kPairedRun, kPairedRun);
    add(split ? row_bytes * cuuint64_t(box.matrix_rows / 2) : row_bytes, 2, 2);
    add(row_bytes * (split ? kPairedRun : kPairedStep), box.matrix_rows / kPairedStep, box.rows / kPairedStep);
  }
  // Of one matrix alone any distance will do.
  if (box.matrices != 0) add(box.matrices > 1 ? entry_bytes : row_bytes, box.matrices, 1);
  const std::size_t box_row_bytes = std::size_t(box.cols) * element_bytes;
  const CUtensorMapSwizzle swizzle = box.code_blocks        ? CU_TENSOR_MAP_SWIZZLE_NONE
                                     : box_row_bytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : box_row_bytes == 64  ? CU_TENSOR_MAP_SWIZZLE_64B
                                                            : CU_TENSOR_MAP_SWIZZLE_32B;
  const CUtensorMapDataType type = box.code_blocks ? CU_TENSOR_MAP_DATA_TYPE_UINT64 : map_type(element);
  check(driver.tensor_map_encode_tiled(as_driver_map(map), type, dimensions, no_matrix, sizes, strides, box_sizes,
            steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "cuTensorMapEncodeTiled");
  return map;
}

CUresult put_address(const Driver& driver, TensorMap& map, const void* matrix) noexcept {
  return driver.tensor_map_replace_address(as_driver_map(map), const_cast<void*>(matrix));
}

CUresult enqueue(const Driver& driver, CUfunc_st* function, const Launch& launch, bool overlaps, void* args,
    CUstream stream) noexcept {
  void* parameters[] = {args};
  std::array<CUlaunchAttribute, 2> attributes{};
  CUlaunchConfig config = launch_config(driver, launch, overlaps, attributes);
  if (config.numAttrs == 0) {
    return driver.launch_kernel(function, config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX,
        config.blockDimY, config.blockDimZ, config.sharedMemBytes, stream, parameters, nullptr);
  }
  config.hStream = stream;
  return driver.launch_kernel_ex(&config, function, parameters, nullptr);
}

/// Where a launch finds an operand: the caller's memory, or the workspace.
void* locate(const OperandSource& source, void* callers, void* workspace) noexcept {
  return source.from_workspace ? static_cast<std::byte*>(workspace) + source.offset_bytes : callers;
}

/// Where the kernels read C in D's place: what C holds is brought there first.
CUresult copy_c_to_d(const Driver& driver, const Problem& problem, const RunArgs& args) noexcept {
  OperandMatrix d = operand(problem, OperandRole::d);
  if (d.entry_stride == d.rows * d.row_stride) d.rows *= d.entries, d.entries = 1;  // as rows of one matrix
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = CUdeviceptr(reinterpret_cast<std::uintptr_t>(args.matrix(OperandRole::c)));
  copy.dstDevice = CUdeviceptr(reinterpret_cast<std::uintptr_t>(args.matrix(OperandRole::d)));
  copy.srcPitch = copy.dstPitch = std::size_t(storage_bytes(d.element, d.row_stride));
  copy.WidthInBytes = std::size_t(storage_bytes(d.element, d.cols));
  copy.Height = std::size_t(d.rows);
  for (std::int64_t entry = 0; entry < d.entries; ++entry) {
    if (const CUresult result = driver.memcpy_2d_async(&copy, args.stream); result != CUDA_SUCCESS) return result;
    copy.srcDevice += CUdeviceptr(storage_bytes(d.element, d.entry_stride));
    copy.dstDevice += CUdeviceptr(storage_bytes(d.element, d.entry_stride));
  }
  return CUDA_SUCCESS;
}

}  // namespace

Plan::Plan(std::shared_ptr<const Module> module, const Config& config, const Problem& problem, int most_sms)
    : problem_(problem), config_(config), module_(std::move(module)), driver_(&driver()) {
  if (const auto error = problem_error(problem_)) throw std::invalid_argument(fmt::format("plan: {}", *error));
  const Family& family = family_of(config_);
  if (const auto reason = refused_because(family, config_, problem_)) {
    throw std::invalid_argument(fmt::format("plan: {} refuses {}: {}", config_.text(), text(problem_), *reason));
  }
  if (problem_.m == 0 || problem_.n == 0 || problem_.batch == 0) return;  // nothing to do, as BLAS defines it
  sequence_ = family.launches(config_, as_planned(problem_));
  // align_bytes may be less than an element of the one matrix, since it speaks of all.
  for (const OperandRole role : kOperandRoles) {
    extents_[role] = extent_of(operand(problem_, role));
    if (problem_.batch_mode == BatchMode::pointers && !is_vector(role)) {  // what is given is an array of pointers
      const auto bytes = std::uintptr_t(problem_.batch) * sizeof(void*);
      extents_[role] = {bytes, bytes, bytes + 1};
      align_bytes_[role] = sizeof(void*);
      continue;
    }
    align_bytes_[role] = address_align_bytes(role, operand(problem_, role).element, problem_.align_bytes);
  }
  functions_.reserve(sequence_.launches.size());
  for (Launch& launch : sequence_.launches) {
    functions_.push_back(prepare_launch(*driver_, *module_, launch, most_sms));
    if (launch.boxes) {
      maps_.emplace();
      if (problem_.k > 0) {
        maps_->a = make_map(*driver_, launch.a, launch.boxes->a, problem_.type.a);
        maps_->b = make_map(*driver_, launch.b, launch.boxes->b, problem_.type.b);
      }
      if (launch.boxes->d) maps_->d = make_map(*driver_, launch.d, *launch.boxes->d, problem_.type.output);
    }
  }
}

Plan::Extent Plan::extent_of(const OperandMatrix& matrix) {
  const auto bytes = [&](std::int64_t elements) { return std::uintptr_t(storage_bytes(matrix.element, elements)); };
  const auto whole = std::uintptr_t(matrix.bytes());
  const std::int64_t apart = matrix.matrices() > 1 ? matrix.entry_stride : 0;
  if (apart < matrix.row_stride)
    return {whole, bytes((matrix.matrices() - 1) * apart + matrix.cols),
        bytes(matrix.row_stride)};  // one matrix, or side by side
  if (apart % matrix.row_stride == 0) return {whole, bytes(matrix.cols), bytes(matrix.row_stride)};
  return {whole, whole, whole + 1};  // rows of entries lie anyhow: all between the first and the last element counts
}

bool Plan::have_common(std::uintptr_t x, const Extent& of_x, std::uintptr_t y, const Extent& of_y) noexcept {
  if (x + of_x.whole <= y || y + of_y.whole <= x) return false;
  // Side by side in rows of one stride, as two parts of one matrix.
  if (of_x.stride != of_y.stride) return true;
  const std::uintptr_t behind = x < y ? (y - x) % of_x.stride : (of_x.stride - (x - y) % of_x.stride) % of_x.stride;
  return behind < of_x.row || behind + of_y.row > of_x.stride;
}

int Plan::run(const RunArgs& args) const noexcept {
  if (functions_.empty()) return CUDA_SUCCESS;
  const bool on_device = problem_.scalars == Scalars::device;  // what they are is known to the kernel alone
  const bool reads_operands = problem_.k > 0 && (on_device || !is_zero(problem_.type.scale, args.alpha));
  const bool reads_c = problem_.beta == BetaClass::any && (on_device || !is_zero(problem_.type.scale, args.beta));
  for (const OperandRole role : kOperandRoles) {
    if (!in_use(problem_, role, reads_operands, reads_c)) continue;
    const void* const matrix = args.matrix(role);
    if (matrix == nullptr) return kNullPointer;
    if (!is_aligned(matrix, align_bytes_[role])) return kMisaligned;
    const void* const d = args.matrix(OperandRole::d);
    if (d == nullptr || role == OperandRole::d || (role == OperandRole::c && matrix == d)) continue;
    if (have_common(reinterpret_cast<std::uintptr_t>(d), extents_[OperandRole::d],
            reinterpret_cast<std::uintptr_t>(matrix), extents_[role]))
      return kOverlap;
  }
  if (sequence_.workspace_bytes > 0 &&
      (args.workspace == nullptr || !is_aligned(args.workspace, kWorkspaceAlignBytes))) {
    return kMissingWorkspace;
  }

  // Kernels that find entries by pointers look up those of all matrices: what the run does not read may be no array,
  // and D's stands there.
  const auto given = [&](OperandRole role, bool is_read) {
    return args.matrix(is_read || problem_.batch_mode != BatchMode::pointers ? role : OperandRole::d);
  };
  GemmArgs kernel_args{};
  kernel_args.c = given(OperandRole::c, reads_c);
  kernel_args.scale_m = static_cast<const float*>(args.matrix(OperandRole::scale_m));
  kernel_args.scale_n = static_cast<const float*>(args.matrix(OperandRole::scale_n));
  kernel_args.bias = args.matrix(OperandRole::bias);
  kernel_args.batch = int(problem_.batch);
  kernel_args.ends = static_cast<const int*>(args.matrix(OperandRole::offsets));
  kernel_args.fault = args.group_fault;
  kernel_args.metadata = args.matrix(OperandRole::metadata);
  kernel_args.scales = args.matrix(OperandRole::weight_scales);
  kernel_args.zeros = args.matrix(OperandRole::weight_zeros);
  kernel_args.workspace = sequence_.workspace_bytes > 0 ? args.workspace : nullptr;
  kernel_args.m = int(problem_.m);
  kernel_args.n = int(problem_.n);
  kernel_args.alpha = on_device ? Scale{.at = args.matrix(OperandRole::alpha)} : args.alpha;
  kernel_args.beta = on_device ? Scale{.at = reads_c ? args.matrix(OperandRole::beta) : nullptr} : args.beta;
  const bool copies_c = reads_c && !is_fused(problem_) && args.matrix(OperandRole::c) != args.matrix(OperandRole::d);
  if (copies_c && (problem_.batch_mode == BatchMode::grouped || problem_.batch_mode == BatchMode::pointers))
    return kCopiesRows;
  if (copies_c) {
    if (const CUresult result = copy_c_to_d(*driver_, problem_, args); result != CUDA_SUCCESS) return result;
  }
  const bool may_come_early = sequence_.launches.front().overlaps_previous && !copies_c;
  const StreamPlace place = may_come_early ? place_in(*driver_, args.stream) : StreamPlace{};
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Launch& launch = sequence_.launches[i];
    const bool overlaps =
        i == 0 ? place.early_pays && (!place.captured || args.early_in_graphs) : launch.overlaps_previous;
    kernel_args.a = locate(launch.a, given(OperandRole::a, reads_operands), args.workspace);
    kernel_args.b = locate(launch.b, given(OperandRole::b, reads_operands), args.workspace);
    kernel_args.d = locate(launch.d, args.matrix(OperandRole::d), args.workspace);
    kernel_args.lda = launch.a.row_stride;
    kernel_args.ldb = launch.b.row_stride;
    kernel_args.ldc = launch.d.row_stride;
    kernel_args.k = !reads_operands ? 0 : launch.k > 0 ? int(launch.k) : int(problem_.k);
    kernel_args.stride_a = launch.a.entry_stride;
    kernel_args.stride_b = launch.b.entry_stride;
    kernel_args.stride_c = launch.d.entry_stride;
    TensorGemmArgs with_maps;
    void* taken = &kernel_args;
    if (launch.boxes) {
      if (const int result = put_maps(kernel_args, with_maps); result != CUDA_SUCCESS) return result;
      taken = &with_maps;
    }
    const int result = enqueue(*driver_, functions_[i], launch, overlaps, taken, args.stream);
    if (result != CUDA_SUCCESS) return result;
  }
  if (place.captured && args.early_in_graphs) remember_letting_kernel(*driver_, args.stream);
  return CUDA_SUCCESS;
}

int Plan::put_maps(const GemmArgs& gemm, TensorGemmArgs& args) const noexcept {
  args = {};
  args.gemm = gemm;
  if (gemm.k > 0) {
    args.a = maps_->a;
    args.b = maps_->b;
    CUresult result = put_address(*driver_, args.a, gemm.a);
    if (result != CUDA_SUCCESS) return result;
    result = put_address(*driver_, args.b, gemm.b);
    if (result != CUDA_SUCCESS) return result;
  }
  if (!maps_->d) return CUDA_SUCCESS;
  args.d = *maps_->d;
  return put_address(*driver_, args.d, gemm.d);
}

Scale to_scale(const TypePair& type, double value) {
  Scale scale;
  std::memset(&scale, 0, sizeof scale);
  switch (type.scale) {
    case Scalar::f64: scale.f64 = value; break;
    case Scalar::s32: {
      constexpr double kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
      if (!(value >= kLeast && value <= kMost) || value != std::trunc(value)) {
        throw std::invalid_argument(fmt::format("α and β of {} are 32-bit integers; {} is none", type.name, value));
      }
      scale.s32 = int(value);
      break;
    }
    default: scale.f32 = float(value); break;
  }
  return scale;
}

}  // namespace tilesmith::runtime
