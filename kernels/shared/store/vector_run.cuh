// What the vectors of an epilogue (scales, bias) have for a warp's sums, and how it is loaded.
#pragma once

#include "kernels/shared/finish/blend.cuh"

namespace tilesmith {

// What a vector has for Count neighbours along it, as it was loaded: taken apart only where it is used, so that the
// load is not waited for.
template <typename Element, int Count>
class VectorRun {
  static constexpr int kBytes = Count * int(sizeof(Element));
  using Word = Either<kBytes == 1, unsigned char, Either<kBytes == 2, unsigned short, unsigned>>;
  struct alignas(kBytes < 16 ? kBytes : 16) Words {
    Word w[kBytes < 4 ? 1 : kBytes / 4];
  };

 public:
  static constexpr int kWords = (kBytes + 3) / 4;

  // `left`: elements from `from` to the vector's end. The vector consists of whole runs (is_whole_vector()); or of any.
  __device__ __forceinline__ void load_whole(const Element* from, int left) {
    if (left > 0) words_ = *reinterpret_cast<const Words*>(from);
  }
  __device__ __forceinline__ void load_each(const Element* from, int left) {
#pragma unroll
    for (int e = 0; e < Count; ++e) {
      if (e < left) reinterpret_cast<Element*>(&words_)[e] = from[e];
    }
  }
  __device__ __forceinline__ Element at(int e) const { return reinterpret_cast<const Element*>(&words_)[e]; }

  __device__ __forceinline__ unsigned word(int i) const { return words_.w[i]; }
  __device__ __forceinline__ void set_word(int i, unsigned word) { words_.w[i] = Word(word); }

 private:
  Words words_ = {};
};

// Whether the vector consists of whole runs, each at a multiple of its bytes; the same for the whole launch.
template <int Count, typename Element>
__device__ __forceinline__ bool is_whole_vector(const Element* vector, int length) {
  return reinterpret_cast<unsigned long long>(vector) % (Count * sizeof(Element)) == 0 && length % Count == 0;
}

// A vector of `end` elements at places_of(i), for all i. It is asked once whether it is whole: asked run by run, each
// load would be waited for.
template <typename Element, int kRun, int Count, typename PlaceOf>
__device__ __forceinline__ void load_runs(
    VectorRun<Element, kRun> (&runs)[Count], const Element* vector, int end, PlaceOf place_of) {
  if (__builtin_expect(is_whole_vector<kRun>(vector, end), 1)) {
#pragma unroll
    for (int i = 0; i < Count; ++i) runs[i].load_whole(vector + place_of(i), end - place_of(i));
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i) runs[i].load_each(vector + place_of(i), end - place_of(i));
  }
}

// Where a thread's sums lie: runs along one dimension of D, rows of the warp's tile along the other.
template <typename Sums>
struct SumsPlace {
  int runs_at, runs_end, rows_at, rows_end;

  __device__ __forceinline__ SumsPlace(const Destination& to, int m0, int n0)
      : runs_at((Sums::kSwapped ? m0 : n0) + Sums::first_column()),
        runs_end(Sums::kSwapped ? to.rows() : to.cols()),
        rows_at(Sums::kSwapped ? n0 : m0),
        rows_end(Sums::kSwapped ? to.cols() : to.rows()) {}
};

// Of the vectors, that which lies along the runs, and that across them.
template <typename Sums>
__device__ __forceinline__ const float* scales_along(const Destination& to) {
  return Sums::kSwapped ? to.scale_m() : to.scale_n();
}
template <typename Sums>
__device__ __forceinline__ const float* scales_across(const Destination& to) {
  return Sums::kSwapped ? to.scale_n() : to.scale_m();
}
template <typename Sums>
struct VectorPlaces {
  static constexpr bool kScalesEachRun = Sums::kSwapped ? kScaleEachRow : kScaleEachColumn;
  static constexpr bool kScalesRuns = Sums::kSwapped ? kScaleM : kScaleN;  // each, or all by one
  static constexpr bool kScalesEachOfRows = Sums::kSwapped ? kScaleEachColumn : kScaleEachRow;
  static constexpr bool kScalesRows = Sums::kSwapped ? kScaleN : kScaleM;
  static constexpr bool kBiasAlongRuns = Sums::kSwapped ? kBiasAlongM : kBiasAlongN;
  static constexpr bool kBiasAcrossRuns = kHasBias && !kBiasAlongRuns;
};

// Vectors that are loaded where they are used, by batches of runs.
template <typename Sums>
class VectorsInMemory {
  using Places = VectorPlaces<Sums>;

 public:
  __device__ __forceinline__ VectorsInMemory(const Destination& to, int m0, int n0) : to_(to), place_(to, m0, n0) {}

  // Runs that are loaded together: of so many words each.
  static constexpr int at_a_time(int words) { return (kSumRegisters<Sums> < 128 ? 16 : 8) / words; }

  // Of runs first, first + 1, ...
  template <int Count>
  __device__ __forceinline__ void scales(int first, VectorRun<float, Sums::kRun> (&runs)[Count]) const {
    load(scales_along<Sums>(to_), first, runs);
  }
  template <int Count>
  __device__ __forceinline__ void biases(int first, VectorRun<BiasType, Sums::kRun> (&runs)[Count]) const {
    load(to_.bias(), first, runs);
  }
  __device__ __forceinline__ float one_scale() const { return scales_along<Sums>(to_)[0]; }
  __device__ __forceinline__ float scale_of_row(int row) const {
    return Places::kScalesEachOfRows ? of_row(scales_across<Sums>(to_), row) : scales_across<Sums>(to_)[0];
  }
  __device__ __forceinline__ BiasType bias_of_row(int row) const { return of_row(to_.bias(), row); }

 private:
  template <typename Element, int Count>
  __device__ __forceinline__ void load(
      const Element* vector, int first, VectorRun<Element, Sums::kRun> (&runs)[Count]) const {
    load_runs(runs, vector, place_.runs_end, [&](int i) {
      return first + i < Sums::kRunsPerRow ? place_.runs_at + Sums::offset(first + i) : place_.runs_end;
    });
  }
  template <typename Element>
  __device__ __forceinline__ Element of_row(const Element* vector, int row) const {
    const int at = place_.rows_at + Sums::row(row / 2, row % 2);
    return at < place_.rows_end ? vector[at] : Element(0);
  }

  const Destination& to_;
  SumsPlace<Sums> place_;
};

}  // namespace tilesmith
