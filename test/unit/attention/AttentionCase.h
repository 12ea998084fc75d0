//===- AttentionCase.h - Attention kernels on data --------------*- C++ -*-===//

#ifndef HONE_TEST_ATTENTION_CASE_H
#define HONE_TEST_ATTENTION_CASE_H

#include "Jit.h"

#include "hone/Conversion/Kernel.h"

#include <string>

namespace hone::test {

enum class Mask { None, Shared, PerHead, HidesRow };
enum class Layout { Rows, Padded, Packed };

/// Sizes and attributes of an attention.
struct Shape {
  int64_t batch, queries, keys, heads, groups, width, valueWidth;
  bool causal;
  Mask mask = Mask::None;
  double dropout = 0.0;
  Layout layout = Layout::Rows;
};

std::string describe(const Shape &shape);

/// Floats in front of a page that must not be touched; the memory before the
/// first is not to be touched either.
class Buffer {
public:
  explicit Buffer(int64_t count);
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  float *data() { return begin; }
  int64_t size() const { return count; }

private:
  float *begin;
  int64_t count;
  void *pages;
  size_t bytes;
};

/// A [batch, position, head, width] tensor inside a buffer.
struct Tensor {
  int64_t shape[4], strides[4];
  std::shared_ptr<Buffer> buffer;
  int64_t offset = 0;

  int64_t count() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  float *data() { return buffer->data() + offset; }
  float &at(int64_t b, int64_t t, int64_t h, int64_t d) {
    return data()[b * strides[0] + t * strides[1] + h * strides[2] +
                  d * strides[3]];
  }
  std::string memrefType() const;
  std::string tensorType() const;
};

/// Operands, results and compiled kernels of one attention and its gradient.
class AttentionCase {
public:
  explicit AttentionCase(const Shape &shape,
                         const std::string &arch = "native");

  /// Run work items [lo, hi) of [0, items).
  void forward(int64_t lo, int64_t hi);
  void backward(int64_t lo, int64_t hi);
  int64_t forwardItems, backwardItems;

  Shape shape;
  double scale;
  int64_t key[3] = {0x123456789abcdef, 5, 2};
  int64_t salt = 77;
  Tensor query, keyTensor, value, result, grad, queryGrad, keyGrad, valueGrad;
  Tensor lse;  ///< [batch, heads, queries, 1]
  Tensor mask; ///< [batch or 1, heads or 1, queries, keys]

private:
  std::vector<void *> forwardBuffers, backwardBuffers;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Jit> jit;
};

} // namespace hone::test

#endif // HONE_TEST_ATTENTION_CASE_H
