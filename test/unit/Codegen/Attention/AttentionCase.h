//===- AttentionCase.h - Attention kernels on data --------------*- C++ -*-===//

#ifndef HONE_TEST_ATTENTION_CASE_H
#define HONE_TEST_ATTENTION_CASE_H

#include "Jit.h"

#include "Codegen/Common/Kernel.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hone::test {

enum class Mask { None, Shared, PerHead, HidesRow };
enum class Layout { Rows, Padded, Packed };
/// Documents of a row: one, eight equal ones, of lengths around a block of the
/// kernels, each longer than one block, or one id to each position in turn.
enum class Segments { None, One, Eight, Short, Long, Shuffled };
/// What operands, results and gradients are stored in; `lse` and masks are F32.
enum class Element { F32, BF16, F16 };

/// `value` rounded to nearest even.
float rounded(float value, Element element);

/// Sizes and attributes of an attention.
struct Shape {
  int64_t batch, queries, keys, heads, groups, width, valueWidth;
  bool causal;
  Mask mask = Mask::None;
  double dropout = 0.0;
  Layout layout = Layout::Rows;
  Element element = Element::F32;
  /// Batches, heads, queries and keys of the whole, if this is its last part:
  /// dropout is that of the whole.
  std::array<int64_t, 4> whole = {};
  /// hone.decode_attention: the position of the first query among the keys.
  /// There is neither lse nor a gradient.
  std::optional<int64_t> first = std::nullopt;
  Segments segments = Segments::None;
  /// Where runs of queries begin among the keys; empty: query 0 is at key 0.
  std::vector<int64_t> runs = {};
  /// Results and gradients are f32, to be merged with others, though operands
  /// are narrower.
  bool keepsSums = false;

  /// Where a query stands among the keys.
  int64_t positionOf(int64_t t) const;
  bool isPart() const { return whole[0] != 0; }
  /// The number of a score in the whole.
  int64_t numberOf(int64_t b, int64_t h, int64_t t, int64_t u) const;
};

std::string describe(const Shape &shape);

/// Numbers in front of a page that must not be touched; the memory before the
/// first is not to be touched either. A kernel gets `memory`; tests read and
/// write floats, which are its elements or, where these are narrower, copies.
class Buffer {
public:
  explicit Buffer(int64_t count, Element element = Element::F32);
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  void *memory() { return begin; }
  float *data() {
    return element == Element::F32 ? static_cast<float *>(begin)
                                   : copies.data();
  }
  int64_t size() const { return count; }
  /// Copies between floats and memory, before and after a kernel runs.
  void toMemory();
  void fromMemory();

  const Element element;

private:
  void *begin;
  int64_t count;
  std::vector<float> copies;
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
  void *memory();
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
  /// The same without copies between floats and narrower memory.
  void forwardInMemory(int64_t lo, int64_t hi);
  void backwardInMemory(int64_t lo, int64_t hi);
  int64_t forwardItems, backwardItems;

  Shape shape;
  double scale;
  int64_t key[3] = {0x123456789abcdef, 5, 2};
  int64_t salt = 77;
  int64_t origin, first;
  Tensor query, keyTensor, value, result, grad, queryGrad, keyGrad, valueGrad;
  Tensor lse;  ///< [batch, heads, queries, 1]
  Tensor mask; ///< [batch or 1, heads or 1, queries, keys]
  int64_t segmentOf(int64_t b, int64_t t) { return ids()[b * shape.keys + t]; }

private:
  std::vector<Buffer *> buffers();
  int64_t *ids() { return static_cast<int64_t *>(segments->memory()); }
  void fillSegments();

  std::unique_ptr<Buffer> segments; ///< [batch, keys] i64, or null
  Tensor keySums, valueSums;        ///< scratch
  Tensor output;                    ///< the result as the gradient reads it
  std::vector<void *> forwardBuffers, backwardBuffers;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<Jit> jit;
};

} // namespace hone::test

#endif // HONE_TEST_ATTENTION_CASE_H
