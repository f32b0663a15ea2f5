#include "runtime/plan/prepare_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tilesmith::runtime {
namespace {

constexpr unsigned kMaxGridYz = 65535;
constexpr unsigned kMaxPortableCluster = 8;
constexpr int kCapturesOverlap = 12030;  // the first driver that captures overlapping launches into a graph

unsigned volume(const Extent3& extent) { return extent.x * extent.y * extent.z; }

CUfunc_st* resolve(const Driver& driver, const Module& module, const Launch& launch) {
  CUfunc_st* function = module.function(launch.entry, launch.dynamic_smem_bytes);
  int most_threads = 0;
  check(driver.func_get_attribute(&most_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function),
      "cuFuncGetAttribute");
  if (volume(launch.block) > unsigned(most_threads)) {
    throw DeviceError(
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, fmt::format("plan: '{}' wants {} threads a block; its registers allow {}",
                                                launch.entry, volume(launch.block), most_threads));
  }
  if (launch.grid.y > kMaxGridYz || launch.grid.z > kMaxGridYz ||
      launch.grid.x > unsigned(std::numeric_limits<int>::max())) {
    throw DeviceError(CUDA_ERROR_INVALID_VALUE,
        fmt::format("plan: '{}' wants a grid of {}×{}×{}, expected at most 2147483647×65535×65535", launch.entry,
            launch.grid.x, launch.grid.y, launch.grid.z));
  }
  if (volume(launch.cluster) > kMaxPortableCluster) {
    check(driver.func_set_attribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
        "cuFuncSetAttribute");
  }
  return function;
}

int device_attribute(const Driver& driver, CUdevice_attribute what) {
  CUdevice device = 0;
  int value = 0;
  check(driver.ctx_get_device(&device), "cuCtxGetDevice");
  check(driver.device_get_attribute(&value, what, device), "cuDeviceGetAttribute");
  return value;
}

/// The blocks of a launch that overlaps the one before come while that one's still hold their SMs, and pile up on those
/// that are free first, though each could have an SM to itself. So each asks for so much shared memory that no more of
/// them fit an SM than the grid has for each, or a persistent one is cut to.
void spread_over_device(const Driver& driver, Launch& launch) {
  if (!launch.overlaps_previous || launch.dynamic_smem_bytes == 0) return;
  const int sm_count = device_attribute(driver, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  const int of_sm = device_attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  const int of_block = device_attribute(driver, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  const int reserved = device_attribute(driver, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  if (sm_count < 1) return;
  const unsigned of_all = (volume(launch.grid) - 1) / unsigned(sm_count) + 1,
                 resident = unsigned(launch.resident_blocks_per_sm);
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

/// A persistent grid has as many blocks as are resident at a time on the device of the current context. Clusters do not
/// span the groups that SMs come in, so that of large ones fewer fit than there are SMs for.
void cut_to_resident_blocks(const Driver& driver, Launch& launch, CUfunc_st* function, int most_sms) {
  if (launch.resident_blocks_per_sm == 0) return;
  if (volume(launch.cluster) > 1) {
    std::array<CUlaunchAttribute, 2> attributes{};
    const CUlaunchConfig config = launch_config(driver, launch, launch.overlaps_previous, attributes);
    int clusters = 0;
    check(driver.occupancy_max_active_clusters(&clusters, function, &config), "cuOccupancyMaxActiveClusters");
    if (most_sms > 0)
      clusters = std::min(clusters, most_sms * launch.resident_blocks_per_sm / int(volume(launch.cluster)));
    launch.grid.x = std::min(launch.grid.x, unsigned(std::max(clusters, 1)) * volume(launch.cluster));
    return;
  }
  launch.grid.x = std::min(launch.grid.x, sms_for(driver, most_sms) * unsigned(launch.resident_blocks_per_sm));
}

}  // namespace

CUlaunchConfig launch_config(
    const Driver& driver, const Launch& launch, bool overlaps, std::array<CUlaunchAttribute, 2>& attributes) noexcept {
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

CUfunc_st* prepare_launch(const Driver& driver, const Module& module, Launch& launch, int most_sms) {
  spread_over_device(driver, launch);
  drop_unfit_neighbours(launch);
  CUfunc_st* const function = resolve(driver, module, launch);
  cut_to_resident_blocks(driver, launch, function, most_sms);
  return function;
}

}  // namespace tilesmith::runtime
