// Tilesmith from C++: one GEMM in tf32, C ← 1·A·B + 0·C, compared with a plain CPU loop.
//
//   gemm_cpp DATABASE [M N K]        DATABASE: a tuned database or a bundle; "default" for your own or the one that ships, "-" for none
//
// Exit status: 0 right, 1 wrong, 2 could not be run (one line says why).
#include <tilesmith/gemm.hpp>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cuda_driver.h"

namespace {

std::vector<float> small_integers(std::int64_t count, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  unsigned state = seed;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = float(state >> 30) - 1;  // -1, 0, 1 or 2: exact in tf32, and so is every sum here in f32
  }
  return values;
}

class DeviceArray {
 public:
  DeviceArray(const cuda_driver& cuda, const std::vector<float>& host) : cuda_(cuda) {
    CUDA_CHECK(cuda_.mem_alloc(&pointer_, host.size() * sizeof(float)));
    CUDA_CHECK(cuda_.to_device(pointer_, host.data(), host.size() * sizeof(float)));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cuda_.mem_free(pointer_); }
  void* get() const { return device_address(pointer_); }
  void download(std::vector<float>& host) const {
    CUDA_CHECK(cuda_.to_host(host.data(), pointer_, host.size() * sizeof(float)));
  }

 private:
  const cuda_driver& cuda_;
  device_pointer pointer_ = 0;
};

double max_error(const tilesmith::Problem& p, const std::vector<float>& a, const std::vector<float>& b,
    const std::vector<float>& c) {
  double worst = 0;
  std::vector<double> sums(static_cast<std::size_t>(p.n));
  for (std::int64_t i = 0; i < p.m; ++i) {
    sums.assign(sums.size(), 0);
    for (std::int64_t l = 0; l < p.k; ++l) {
      for (std::int64_t j = 0; j < p.n; ++j)
        sums[std::size_t(j)] += double(a[std::size_t(i * p.lda + l)]) * b[std::size_t(l * p.ldb + j)];
    }
    for (std::int64_t j = 0; j < p.n; ++j) {
      const double difference = std::abs(double(c[std::size_t(i * p.ldc + j)]) - sums[std::size_t(j)]);
      if (!(difference <= worst)) worst = difference;  // NaN is worst
    }
  }
  return worst;
}

int run(const std::string& database, std::int64_t m, std::int64_t n, std::int64_t k) {
  const tilesmith::Library library = database == "default" ? tilesmith::Library::open_default()
                                     : database == "-"     ? tilesmith::Library::without_database()
                                                           : tilesmith::Library::open(database);
  const cuda_driver cuda = cuda_open(0);
  const tilesmith::Problem problem =
      tilesmith::packed_problem({*tilesmith::find_type_pair("tf32f32"), *tilesmith::parse_transposes("NN")}, m, n, k);
  tilesmith::GemmPlan plan = library.plan(problem);
  plan.reserve_workspace();

  const std::vector<float> a = small_integers(m * k, 1), b = small_integers(k * n, 2);
  std::vector<float> c(static_cast<std::size_t>(m * n), NAN);
  const DeviceArray a_there(cuda, a), b_there(cuda, b), c_there(cuda, c);
  plan.run(nullptr, 1.0, a_there.get(), b_there.get(), 0.0, c_there.get());
  CUDA_CHECK(cuda.synchronize());
  c_there.download(c);

  const double error = max_error(problem, a, b, c);
  const tilesmith::Explanation& why = plan.explain();
  std::cout << tilesmith::text(problem) << " on " << library.device() << ": level " << why.level << ", " << why.config
            << ", " << why.kernel << ", max error " << error << (error == 0 ? ": PASS" : ": FAIL") << '\n';
  return error == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 5) {
    std::cerr << "error: expected DATABASE (or '-' for none), then M N K or nothing\n";
    return 2;
  }
  const auto dimension = [&](int i) { return argc == 5 ? std::atoll(argv[i]) : 512; };
  try {
    return run(argv[1], dimension(2), dimension(3), dimension(4));
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 2;
  }
}
