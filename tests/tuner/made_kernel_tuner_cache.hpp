// A small made-up cache file of Kernel Tuner: 4 × 3 × 2 configs, one of them failed.
#pragma once

#include <zlib.h>

#include <stdexcept>
#include <string>

namespace tilesmith::tests {

/// All but the last two braces. Config x, y, mode takes 1 + x + 10 y ms, twice that in mode "slow"; 8, 2, "slow"
/// failed.
inline std::string made_cache_open() {
  std::string text =
      "{\n\"device_name\": \"A GPU\",\n\"kernel_name\": \"Xgemm\",\n\"problem_size\": [64, 64],\n"
      "\"tune_params_keys\": [\"X\", \"Y\", \"MODE\", \"ONE\"],\n"
      "\"tune_params\": {\"X\": [1, 2, 4, 8], \"Y\": [0, 1, 2], \"MODE\": [\"fast\", \"slow\"], \"ONE\": [32]},\n"
      "\"cache\": {\n";
  for (const int x : {1, 2, 4, 8}) {
    for (const int y : {0, 1, 2}) {
      for (const bool slow : {false, true}) {
        const bool failed = x == 8 && y == 2 && slow;
        const std::string mode = slow ? "slow" : "fast";
        const int ms = (1 + x + 10 * y) * (slow ? 2 : 1);
        text += text.back() == '}' ? ",\n" : "";
        text += "\"" + std::to_string(x) + "," + std::to_string(y) + "," + mode +
                ",32\": {\"X\": " + std::to_string(x) + ", \"Y\": " + std::to_string(y) + ", \"MODE\": \"" + mode +
                "\", \"ONE\": 32, \"time\": " + (failed ? "\"RuntimeFailedConfig\"" : std::to_string(ms) + ".0") +
                ", \"times\": [1.5, 2.5], \"GFLOP/s\": NaN}";
      }
    }
  }
  return text;
}

inline std::string made_cache() { return made_cache_open() + "}\n}\n"; }

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  if (::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  std::string out(::deflateBound(&stream, uLong(text.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  const int state = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("zlib: not finished");
  return out;
}

}  // namespace tilesmith::tests
