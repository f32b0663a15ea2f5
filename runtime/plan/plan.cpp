#include "runtime/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "kernels/common/operand_arg.cuh"
#include "kernels/tensor_core/tensor_args.cuh"
#include "runtime/plan/captured_order.hpp"
#include "runtime/driver/driver.hpp"

namespace tilesmith::runtime {
namespace {

constexpr std::size_t kWorkspaceAlignBytes = 256;
constexpr unsigned kMaxGridYz = 65535;
constexpr unsigned kMaxPortableCluster = 8;
constexpr int kCapturesOverlap = 12030;  // the first driver that captures overlapping launches into a graph

unsigned volume(const Extent3& extent) { return extent.x * extent.y * extent.z; }

bool is_zero(Scalar type, const Scale& scale) noexcept {
  switch (type) {
    case Scalar::f64:
      return scale.f64 == 0;
    case Scalar::s32:
      return scale.s32 == 0;
    default:
      return scale.f32 == 0;
  }
}

bool is_aligned(const void* pointer, std::size_t align_bytes) noexcept {
  return (reinterpret_cast<std::uintptr_t>(pointer) & (align_bytes - 1)) == 0;
}

const Family& family_of(const Config& config) {
  const Family* family = find_family(config.family());
  if (family == nullptr) throw std::invalid_argument(fmt::format("plan: there is no family '{}'", config.family()));
  return *family;
}

/// The kernel of one launch, checked against what the device gives it: a plan that could never run is refused here and
/// not at its first run.
CUfunc_st* resolve(const Driver& driver, const Module& module, const Launch& launch) {
  CUfunc_st* function = module.function(launch.entry, launch.dynamic_smem_bytes);
  int most_threads = 0;
  check(driver.func_get_attribute(&most_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
        "cuFuncGetAttribute");
  if (volume(launch.block) > unsigned(most_threads)) {
    throw DeviceError(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                      fmt::format("plan: '{}' wants {} threads a block; its registers allow {}", launch.entry,
                                  volume(launch.block), most_threads));
  }
  if (launch.grid.y > kMaxGridYz || launch.grid.z > kMaxGridYz ||
      launch.grid.x > unsigned(std::numeric_limits<int>::max())) {
    throw DeviceError(CUDA_ERROR_INVALID_VALUE,
                      fmt::format("plan: '{}' wants a grid of {}×{}×{}, expected at most 2147483647×65535×65535",
                                  launch.entry, launch.grid.x, launch.grid.y, launch.grid.z));
  }
  if (volume(launch.cluster) > kMaxPortableCluster) {
    check(driver.func_set_attribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
          "cuFuncSetAttribute");
  }
  return function;
}

/// The grid, the block and what goes with them, but for the stream; `attributes` outlives it. `overlaps`: as the launch's
/// `overlaps_previous` says, or false for all that.
CUlaunchConfig launch_config(const Driver& driver, const Launch& launch, bool overlaps,
                             std::array<CUlaunchAttribute, 2>& attributes) noexcept {
  unsigned count = 0;
  overlaps = overlaps && driver.version >= kCapturesOverlap;
  const Extent3 cluster = overlaps && launch.neighbours > 1 ? Extent3{launch.neighbours, 1, 1} : launch.cluster;
  if (volume(cluster) > 1) {
    CUlaunchAttribute& attribute = attributes[count++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = cluster.x;
    attribute.value.clusterDim.y = cluster.y;
    attribute.value.clusterDim.z = cluster.z;
  }
  // Without the attribute the launch starts when the one before has ended, and its wait returns at once.
  if (overlaps) {
    CUlaunchAttribute& overlap = attributes[count++];
    overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    overlap.value.programmaticStreamSerializationAllowed = 1;
  }
  CUlaunchConfig config{};
  config.gridDimX = launch.grid.x;
  config.gridDimY = launch.grid.y;
  config.gridDimZ = launch.grid.z;
  config.blockDimX = launch.block.x;
  config.blockDimY = launch.block.y;
  config.blockDimZ = launch.block.z;
  config.sharedMemBytes = unsigned(launch.dynamic_smem_bytes);
  config.attrs = attributes.data();
  config.numAttrs = count;
  return config;
}

int device_attribute(const Driver& driver, CUdevice_attribute what) {
  CUdevice device = 0;
  int value = 0;
  check(driver.ctx_get_device(&device), "cuCtxGetDevice");
  check(driver.device_get_attribute(&value, what, device), "cuDeviceGetAttribute");
  return value;
}

/// The blocks of a launch that overlaps the one before come while that one's still hold their SMs, and pile up on those that are
/// free first, though each could have an SM to itself. So each asks for so much shared memory that no more of them fit an SM than
/// the grid has for each, or a persistent one is cut to.
void spread_over_device(const Driver& driver, Launch& launch) {
  if (!launch.overlaps_previous || launch.dynamic_smem_bytes == 0) return;
  const int sm_count = device_attribute(driver, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  const int of_sm = device_attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  const int of_block = device_attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const int reserved = device_attribute(driver, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  if (sm_count < 1) return;
  const unsigned of_all = (volume(launch.grid) - 1) / unsigned(sm_count) + 1, resident = unsigned(launch.resident_blocks_per_sm);
  const unsigned each = resident > 0 ? std::min(of_all, resident) : of_all;  // blocks of an SM
  const int too_much_for_more = of_sm / int(std::min(each + 1, 64u)) - reserved + 1;
  if (too_much_for_more > of_block) return;
  launch.dynamic_smem_bytes = std::max(launch.dynamic_smem_bytes, std::size_t(std::max(too_much_for_more, 0)));
}

/// Only a launch that has no cluster anyway can be given one, of a grid that splits into such and is not cut.
void drop_unfit_neighbours(Launch& launch) {
  const bool fits = volume(launch.cluster) == 1 && launch.resident_blocks_per_sm == 0;
  if (!fits || launch.grid.x % launch.neighbours != 0) launch.neighbours = 1;
}

/// Of the device of the current context, `most` of them if that is above 0.
unsigned sms_for(const Driver& driver, int most) {
  const int sms = device_attribute(driver, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  return unsigned(most > 0 ? std::min(sms, most) : sms);
}

/// A persistent grid has as many blocks as are resident at a time on the device of the current context. Clusters do not span
/// the groups that SMs come in, so that of large ones fewer fit than there are SMs for.
void cut_to_resident_blocks(const Driver& driver, Launch& launch, CUfunc_st* function, int most_sms) {
  if (launch.resident_blocks_per_sm == 0) return;
  if (volume(launch.cluster) > 1) {
    std::array<CUlaunchAttribute, 2> attributes{};
    const CUlaunchConfig config = launch_config(driver, launch, launch.overlaps_previous, attributes);
    int clusters = 0;
    check(driver.occupancy_max_active_clusters(&clusters, function, &config), "cuOccupancyMaxActiveClusters");
    if (most_sms > 0) clusters = std::min(clusters, most_sms * launch.resident_blocks_per_sm / int(volume(launch.cluster)));
    launch.grid.x = std::min(launch.grid.x, unsigned(std::max(clusters, 1)) * volume(launch.cluster));
    return;
  }
  launch.grid.x = std::min(launch.grid.x, sms_for(driver, most_sms) * unsigned(launch.resident_blocks_per_sm));
}

CUtensorMap* as_driver_map(TensorMap& map) { return reinterpret_cast<CUtensorMap*>(&map); }

/// How the tensor memory accelerator moves elements: as they are, so that only their width counts, but for operands of tf32.
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
  const auto row_bytes = cuuint64_t(matrix.row_stride) * element_bytes;
  const cuuint64_t sizes[] = {cuuint64_t(box.matrix_cols), cuuint64_t(box.matrix_rows)};
  const cuuint32_t box_sizes[] = {cuuint32_t(box.cols), cuuint32_t(box.rows)};
  const cuuint32_t steps[] = {1, 1};
  const std::size_t box_row_bytes = std::size_t(box.cols) * element_bytes;
  const CUtensorMapSwizzle swizzle = box_row_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : box_row_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                           : CU_TENSOR_MAP_SWIZZLE_32B;
  check(driver.tensor_map_encode_tiled(as_driver_map(map), map_type(element), 2, no_matrix, sizes, &row_bytes,
                                       box_sizes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                       CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return map;
}

CUresult put_address(const Driver& driver, TensorMap& map, const void* matrix) noexcept {
  return driver.tensor_map_replace_address(as_driver_map(map), const_cast<void*>(matrix));
}

/// What a kernel takes behind its first argument.
using FurtherArgs = std::array<OperandArg, kOperandRoles>;

CUresult enqueue(const Driver& driver, CUfunc_st* function, const Launch& launch, bool overlaps, void* args, FurtherArgs& further,
                 CUstream stream) noexcept {
  void* parameters[1 + kOperandRoles] = {args};
  for (std::size_t i = 0; i < launch.further.size(); ++i) parameters[1 + i] = &further[i];
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
template <typename Pointer>
Pointer locate(const OperandSource& source, Pointer callers, void* workspace) noexcept {
  return source.from_workspace ? static_cast<Pointer>(static_cast<std::byte*>(workspace) + source.offset_bytes)
                               : callers;
}

/// Where the kernels read C in D's place: what C holds is brought there first.
CUresult copy_c_to_d(const Driver& driver, const Problem& problem, const RunArgs& args) noexcept {
  const OperandMatrix d = operand(problem, OperandRole::d);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = CUdeviceptr(reinterpret_cast<std::uintptr_t>(args.c));
  copy.dstDevice = CUdeviceptr(reinterpret_cast<std::uintptr_t>(args.d));
  copy.srcPitch = copy.dstPitch = std::size_t(storage_bytes(d.element, d.row_stride));
  copy.WidthInBytes = std::size_t(storage_bytes(d.element, d.cols));
  copy.Height = std::size_t(d.rows);
  return driver.memcpy_2d_async(&copy, args.stream);
}

struct Needed {
  OperandRole role;
  Scalar element;
  bool in_use;
};

bool takes(const Launch& launch, OperandRole role) { return std::ranges::find(launch.further, role) != launch.further.end(); }

}  // namespace

const void* pointer(const RunArgs& args, OperandRole role) noexcept {
  switch (role) {
    case OperandRole::a:
      return args.a;
    case OperandRole::b:
      return args.b;
    case OperandRole::c:
      return args.c != nullptr ? args.c : args.d;
    case OperandRole::d:
      return args.d;
  }
  return nullptr;
}

void set_pointer(RunArgs& args, OperandRole role, void* data) noexcept {
  switch (role) {
    case OperandRole::a:
      args.a = data;
      break;
    case OperandRole::b:
      args.b = data;
      break;
    case OperandRole::c:
      args.c = data;
      break;
    case OperandRole::d:
      args.d = data;
      break;
  }
}

Plan::Plan(std::shared_ptr<const Module> module, const Config& config, const Problem& problem, int most_sms)
    : problem_(problem), config_(config), module_(std::move(module)), driver_(&driver()) {
  if (const auto error = problem_error(problem_)) throw std::invalid_argument(fmt::format("plan: {}", *error));
  const Family& family = family_of(config_);
  if (const auto reason = refused_because(family, config_, problem_)) {
    throw std::invalid_argument(fmt::format("plan: {} refuses {}: {}", config_.text(), text(problem_), *reason));
  }
  if (problem_.m == 0 || problem_.n == 0) return;  // nothing to do, as BLAS defines it
  sequence_ = family.launches(config_, as_planned(problem_));
  copies_c_ = std::ranges::none_of(sequence_.launches, [](const Launch& launch) { return takes(launch, OperandRole::c); });
  functions_.reserve(sequence_.launches.size());
  for (Launch& launch : sequence_.launches) {
    if (launch.further.size() > kOperandRoles) throw std::logic_error("plan: a launch takes an operand twice");
    spread_over_device(*driver_, launch);
    drop_unfit_neighbours(launch);
    functions_.push_back(resolve(*driver_, *module_, launch));
    cut_to_resident_blocks(*driver_, launch, functions_.back(), most_sms);
    if (launch.boxes) {
      maps_.emplace();
      if (problem_.k > 0) {
        maps_->a = make_map(*driver_, launch.a, launch.boxes->a, problem_.type.a);
        maps_->b = make_map(*driver_, launch.b, launch.boxes->b, problem_.type.b);
      }
      if (launch.boxes->c) maps_->c = make_map(*driver_, launch.c, *launch.boxes->c, problem_.type.output);
    }
  }
}

int Plan::run(const RunArgs& args) const noexcept {
  if (functions_.empty()) return CUDA_SUCCESS;
  const bool reads_operands = problem_.k > 0 && !is_zero(problem_.type.scale, args.alpha);
  const bool reads_c = problem_.beta == BetaClass::any && !is_zero(problem_.type.scale, args.beta);
  for (const auto& [role, element, in_use] : {Needed{OperandRole::a, problem_.type.a, reads_operands},
                                              {OperandRole::b, problem_.type.b, reads_operands},
                                              {OperandRole::c, problem_.type.output, reads_c},
                                              {OperandRole::d, problem_.type.output, true}}) {
    if (!in_use) continue;
    const void* const matrix = pointer(args, role);
    if (matrix == nullptr) return kNullPointer;
    // align_bytes may be less than an element of the one matrix, since it speaks of all.
    if (!is_aligned(matrix, std::max(std::size_t(problem_.align_bytes), size_bytes(element)))) return kMisaligned;
  }
  if (sequence_.workspace_bytes > 0 &&
      (args.workspace == nullptr || !is_aligned(args.workspace, kWorkspaceAlignBytes))) {
    return kMissingWorkspace;
  }

  GemmArgs kernel_args{};
  kernel_args.workspace = sequence_.workspace_bytes > 0 ? args.workspace : nullptr;
  kernel_args.m = int(problem_.m);
  kernel_args.n = int(problem_.n);
  kernel_args.k = reads_operands ? int(problem_.k) : 0;
  kernel_args.alpha = args.alpha;
  kernel_args.beta = args.beta;
  const bool copies_c = reads_c && copies_c_ && pointer(args, OperandRole::c) != args.d;
  if (copies_c) {
    if (const CUresult result = copy_c_to_d(*driver_, problem_, args); result != CUDA_SUCCESS) return result;
  }
  const bool may_come_early = sequence_.launches.front().overlaps_previous && !copies_c;
  const StreamPlace place = may_come_early ? place_in(*driver_, args.stream) : StreamPlace{};
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const Launch& launch = sequence_.launches[i];
    const bool overlaps = i == 0 ? place.early_pays && (!place.captured || args.early_in_graphs) : launch.overlaps_previous;
    kernel_args.a = locate(launch.a, args.a, args.workspace);
    kernel_args.b = locate(launch.b, args.b, args.workspace);
    kernel_args.c = locate(launch.c, args.d, args.workspace);
    kernel_args.lda = launch.a.row_stride;
    kernel_args.ldb = launch.b.row_stride;
    kernel_args.ldc = launch.c.row_stride;
    FurtherArgs further;
    for (std::size_t at = 0; at < launch.further.size(); ++at) {
      further[at] = {pointer(args, launch.further[at]), operand(problem_, launch.further[at]).row_stride};
    }
    TensorGemmArgs with_maps;
    void* first = &kernel_args;
    if (launch.boxes) {
      if (const int result = put_maps(kernel_args, with_maps); result != CUDA_SUCCESS) return result;
      first = &with_maps;
    }
    const int result = enqueue(*driver_, functions_[i], launch, overlaps, first, further, args.stream);
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
  if (!maps_->c) return CUDA_SUCCESS;
  args.c = *maps_->c;
  return put_address(*driver_, args.c, gemm.c);
}

Scale to_scale(const TypePair& type, double value) {
  Scale scale;
  std::memset(&scale, 0, sizeof scale);
  switch (type.scale) {
    case Scalar::f64:
      scale.f64 = value;
      break;
    case Scalar::s32: {
      constexpr double kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
      if (!(value >= kLeast && value <= kMost) || value != std::trunc(value)) {
        throw std::invalid_argument(fmt::format("α and β of {} are 32-bit integers; {} is none", type.name, value));
      }
      scale.s32 = int(value);
      break;
    }
    default:
      scale.f32 = float(value);
      break;
  }
  return scale;
}

}  // namespace tilesmith::runtime
