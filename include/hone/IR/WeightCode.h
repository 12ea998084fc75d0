//===- WeightCode.h - Frozen weights in codes of 8 or 4 bits ----*- C++ -*-===//
//
// What the codes of hone.dequantize stand for.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_WEIGHTCODE_H
#define HONE_IR_WEIGHTCODE_H

#include <array>
#include <cstdint>

namespace hone {

/// The values of 4-bit NormalFloat, by code (Dettmers et al., "QLoRA:
/// Efficient Finetuning of Quantized LLMs", 2023, appendix E). The front end
/// has them too (python_frontend/hone/frozen.py); a test compares.
constexpr std::array<float, 16> nf4Values = {-1.0f,
                                             -0.6961928009986877f,
                                             -0.5250730514526367f,
                                             -0.39491748809814453f,
                                             -0.28444138169288635f,
                                             -0.18477343022823334f,
                                             -0.09105003625154495f,
                                             0.0f,
                                             0.07958029955625534f,
                                             0.16093020141124725f,
                                             0.24611230194568634f,
                                             0.33791524171829224f,
                                             0.44070982933044434f,
                                             0.5626170039176941f,
                                             0.7229568362236023f,
                                             1.0f};

/// Bytes of the codes of a row of `width` elements.
inline int64_t nf4Bytes(int64_t width) { return (width + 1) / 2; }

/// Code of element `element` of a row whose codes are `row`.
inline unsigned nf4Code(const int64_t *row, int64_t element) {
  unsigned byte = uint8_t(row[element / 2]);
  return element % 2 == 0 ? byte >> 4 : byte & 15;
}

} // namespace hone

#endif // HONE_IR_WEIGHTCODE_H
