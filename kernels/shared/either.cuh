// One of two types, chosen when the kernel is compiled.
#pragma once

namespace tilesmith {

template <bool First, typename A, typename B>
struct EitherOf {
  using type = A;
};
template <typename A, typename B>
struct EitherOf<false, A, B> {
  using type = B;
};
template <bool First, typename A, typename B>
using Either = typename EitherOf<First, A, B>::type;

}  // namespace tilesmith
