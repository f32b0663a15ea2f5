// Pruning by tiles on a device: bit for bit what the host makes, and bugs planted in it.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/problem/sparsity.hpp"
#include "runtime/driver/device.hpp"
#include "runtime/interface/helper_kernels.hpp"
#include "runtime/interface/sparse.hpp"
#include "runtime/interface/sparse_source.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/planted_bug.hpp"

namespace tilesmith::test_prune_tiles {

namespace {

enum class Kind {
  any,    ///< any bits, so NaN, infinities, denormals and both zeros are among them
  few,    ///< that are often equal
  edges,  ///< of a format: what is smallest, largest, infinite and none
};
constexpr Kind kKinds[] = {Kind::any, Kind::few, Kind::edges};

std::vector<std::byte> elements_of(Kind kind, std::int64_t count, Scalar element, std::uint64_t seed) {
  const std::size_t bytes = size_bytes(element);
  std::vector<std::byte> made(std::size_t(count) * bytes);
  std::uint64_t state = seed;
  const ElementFormat format = runtime::element_format(element);
  const std::uint32_t sign = 1u << (8 * bytes - 1), whole = 1u << format.fraction_bits,
                      infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  const std::uint32_t edges[16] = {0, 0, 1, 1, 2, whole - 1, whole, whole + 1, sign - 1, sign - 2, sign - 3, infinity,
      infinity, infinity - 1, infinity - 1, infinity + 1};
  for (std::size_t i = 0; i < std::size_t(count); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::uint32_t bits = std::uint32_t(state >> 32);
    if (kind == Kind::few) bits = (bits & 0x80808080u) | (bits >> 8 & 1) * 0x3c3c3c3cu;
    if (kind == Kind::edges) bits = (bits & 1) * sign | edges[bits >> 8 & 15];
    std::memcpy(made.data() + i * bytes, &bits, bytes);
  }
  return made;
}

runtime::DeviceBuffer uploaded(const std::vector<std::byte>& bytes) {
  runtime::DeviceBuffer buffer(bytes.size());
  buffer.upload(bytes);
  return buffer;
}

std::vector<std::byte> downloaded(const runtime::DeviceBuffer& buffer, std::size_t bytes) {
  std::vector<std::byte> host(bytes);
  buffer.download(host);
  return host;
}

struct PlantedInTiles {
  const char* name;
  Scalar element;
  const char* find;
  const char* replace;
};

constexpr PlantedInTiles kBugs[] = {
    {"the second best is kept where it is as good", Scalar::f16, "if (!(all > best)) continue;",
        "if (best > all) continue;"},
    {"NaN are as infinities", Scalar::bf16, "fraction != 0 ? kWorthOfNan : kWorthOfInfinity", "kWorthOfInfinity"},
    {"e4m3 has infinities", Scalar::e4m3, "magnitude == sign - 1", "magnitude == sign"},
    {"infinities are the largest of what is finite", Scalar::f16, "if (format.has_infinity && exponent == last) return",
        "if (format.has_infinity && exponent > last) return"},
    {"denormals have a whole bit", Scalar::f16, "exponent == 0 ? double(fraction)", "exponent < 0 ? double(fraction)"},
    {"columns are not counted", Scalar::s8, "kept + spread(pair_of(number)) == 0x2222", "pair_of(number) == third"},
    {"-128 is 0", Scalar::s8, "? 2 * sign - bits : bits", "? (2 * sign - bits) % 128 : bits"},
    {"rows behind the last are read", Scalar::u8, "first + row < args.rows ? from[i] : Element(0)", "from[i]"},
    {"the last rows of tiles are left", Scalar::tf32, "if (first + row >= args.rows) break;",
        "if (first + row + 1 >= args.rows) break;"},
    {"the anti-diagonal is never taken", Scalar::tf32, "? 0x6 : 0x9", "? 0x9 : 0x9"},
};

}  // namespace

TEST_CASE("pruning by tiles is the same on the device and on the host, and what it leaves is 2:4 sparse both ways",
    "[gpu][sparse][tiles]") {
  const runtime::Context context(0);
  LibraryOptions quiet;
  quiet.log_misses = false;
  const Library library = Library::without_database(quiet);
  for (const Scalar element :
      {Scalar::f16, Scalar::bf16, Scalar::tf32, Scalar::s8, Scalar::u8, Scalar::e4m3, Scalar::e5m2}) {
    for (const Kind kind : kKinds) {
      for (const std::int64_t rows : {256, 37}) {
        INFO(name(element) << " " << rows << " rows, elements of kind " << int(kind));
        const std::size_t bytes = size_bytes(element);
        const std::int64_t k = 132, ld = 140;
        const SparseMatrix matrix{element, rows, k, ld};
        const std::vector<std::byte> dense = elements_of(kind, rows * ld, element, 11 + std::uint64_t(rows));
        std::vector<std::byte> want = dense;
        sparse_prune_tiles_on_host(matrix, want.data(), want.data());
        const runtime::DeviceBuffer on = uploaded(dense), apart = uploaded(dense);
        sparse_prune_tiles(library, nullptr, matrix, on.data(), apart.data());
        sparse_prune_tiles(library, nullptr, matrix, on.data(), on.data());
        context.synchronize();
        CHECK(downloaded(on, dense.size()) == want);
        CHECK(downloaded(apart, dense.size()) == want);
        CHECK(sparse_check(library, nullptr, matrix, on.data()).groups == 0);
        const std::int64_t padded = (rows + 3) / 4 * 4;
        std::vector<std::byte> turned(std::size_t(k * padded) * bytes);
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t column = 0; column < k; ++column)
            std::memcpy(turned.data() + std::size_t(column * padded + row) * bytes,
                want.data() + std::size_t(row * ld + column) * bytes, bytes);
        }
        CHECK(sparse_check(library, nullptr, {element, k, padded}, uploaded(turned).data()).groups == 0);
      }
    }
  }
}

TEST_CASE("bugs planted in pruning by tiles are found", "[gpu][sparse][tiles]") {
  const runtime::Context context(0);
  runtime::KernelCache no_cache{{}};
  runtime::HelperKernels helpers(no_cache);
  const auto finds = [&](const PlantedInTiles& bug, bool planted) {
    std::vector<std::string> seen;
    std::string source = planted::spliced(runtime::sparse_source(bug.element), seen);
    const std::size_t at = source.find(bug.find);
    REQUIRE(at != std::string::npos);
    if (planted) source.replace(at, std::strlen(bug.find), bug.replace);
    const std::int64_t rows = 254, k = 128;
    bool found = false;
    for (const Kind kind : kKinds) {
      const std::vector<std::byte> dense = elements_of(kind, 256 * k, bug.element, 5);
      std::vector<std::byte> want = dense;
      sparse_prune_tiles_on_host({bug.element, rows, k}, want.data(), want.data());
      const runtime::DeviceBuffer on = uploaded(dense);
      PruneTilesArgs args{on.data(), on.data(), rows, k, k};
      helpers.launch(context, true, source, "prune_tiles", tiles_of(args, sparse_group(bug.element)), &args, nullptr);
      context.synchronize();
      found = found || downloaded(on, dense.size()) != want;
    }
    return found;
  };
  for (const PlantedInTiles& bug : kBugs) {
    INFO(bug.name);
    CHECK_FALSE(finds(bug, false));
    CHECK(finds(bug, true));
  }
}

}  // namespace tilesmith::test_prune_tiles
