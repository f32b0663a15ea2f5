// A run of neighbours, and its way to memory and back, at a multiple of its bytes (or 16).
#pragma once

namespace tilesmith {

template <typename Element, int Count>
struct alignas(Count * sizeof(Element) < 16 ? Count * sizeof(Element) : 16) Run {
  Element x[Count];
};

template <typename Element, int Count>
__device__ __forceinline__ void put_run(Element* to, const Element (&elements)[Count]) {
  Run<Element, Count> run;
#pragma unroll
  for (int e = 0; e < Count; ++e) run.x[e] = elements[e];
  *reinterpret_cast<Run<Element, Count>*>(to) = run;
}

template <typename Element, int Count>
__device__ __forceinline__ void get_run(const Element* from, Element (&elements)[Count]) {
  const auto run = *reinterpret_cast<const Run<Element, Count>*>(from);
#pragma unroll
  for (int e = 0; e < Count; ++e) elements[e] = run.x[e];
}

}  // namespace tilesmith
