//===- Lines.h - A tensor as lines along one dimension ----------*- C++ -*-===//

#ifndef HONE_LIB_INTERPRETER_LINES_H
#define HONE_LIB_INTERPRETER_LINES_H

#include "hone/Interpreter/Ops.h"

#include <limits>

namespace hone::interp {

/// A tensor seen as [outer, size, inner] around one dimension.
struct Lines {
  Lines(Dims shape, int64_t dim)
      : outer(elementCount(shape.take_front(dim))), size(shape[dim]),
        inner(elementCount(shape.drop_front(dim + 1))) {}

  int64_t at(int64_t o, int64_t index, int64_t i) const {
    return (o * size + index) * inner + i;
  }

  int64_t outer, size, inner;
};

inline int64_t wrappingAdd(int64_t lhs, int64_t rhs) {
  return int64_t(uint64_t(lhs) + uint64_t(rhs));
}

/// The least integer of a type; the greatest is its complement.
inline int64_t leastOf(Element element) {
  return element == Element::I64   ? std::numeric_limits<int64_t>::min()
         : element == Element::I32 ? std::numeric_limits<int32_t>::min()
                                   : std::numeric_limits<int8_t>::min();
}

} // namespace hone::interp

#endif // HONE_LIB_INTERPRETER_LINES_H
