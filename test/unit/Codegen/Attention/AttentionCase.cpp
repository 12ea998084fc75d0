//===- AttentionCase.cpp - Attention kernels on data ----------------------===//

#include "AttentionCase.h"

#include "Codegen/CPU/Attention/Kernels.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace hone;
using namespace hone::test;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static int64_t byteWidth(Element element) {
  return element == Element::F32 ? 4 : 2;
}

static const char *nameOf(Element element) {
  const char *names[] = {"f32", "bf16", "f16"};
  return names[int(element)];
}

/// The bits of a number in a narrow type, and the way back.
static uint16_t toNarrow(float value, Element element) {
  if (element == Element::F16)
    return llvm::bit_cast<uint16_t>(static_cast<_Float16>(value));
  auto bits = llvm::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return bits >> 16 | 0x40; // the sign stays
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static float fromNarrow(uint16_t bits, Element element) {
  if (element == Element::F16)
    return static_cast<float>(llvm::bit_cast<_Float16>(bits));
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

float hone::test::rounded(float value, Element element) {
  if (element == Element::F32)
    return value;
  return fromNarrow(toNarrow(value, element), element);
}

Buffer::Buffer(int64_t count, Element element)
    : element(element), count(count) {
  size_t page = sysconf(_SC_PAGESIZE);
  size_t wanted = count * byteWidth(element);
  size_t used = (wanted + page - 1) / page * page;
  bytes = used + 2 * page;
  pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  char *start = static_cast<char *>(pages);
  mprotect(start, page, PROT_NONE);
  mprotect(start + page + used, page, PROT_NONE);
  begin = start + page + used - wanted;
  if (element != Element::F32)
    copies.resize(count);
  std::fill(data(), data() + count, std::numeric_limits<float>::quiet_NaN());
}

Buffer::~Buffer() { munmap(pages, bytes); }

void Buffer::toMemory() {
  auto *memory = static_cast<uint16_t *>(begin);
  for (size_t i = 0; i < copies.size(); ++i)
    memory[i] = toNarrow(copies[i], element);
}

void Buffer::fromMemory() {
  auto *memory = static_cast<uint16_t *>(begin);
  for (size_t i = 0; i < copies.size(); ++i)
    copies[i] = fromNarrow(memory[i], element);
}

void *Tensor::memory() {
  return static_cast<char *>(buffer->memory()) +
         offset * byteWidth(buffer->element);
}

static std::string joined(const int64_t *values, const char *separator) {
  std::ostringstream text;
  for (int d = 0; d < 4; ++d)
    text << (d ? separator : "") << values[d];
  return text.str();
}

std::string Tensor::memrefType() const {
  bool rowMajor = strides[2] == shape[3] && strides[1] == shape[2] * strides[2];
  if (count() > 0 && rowMajor && strides[0] == shape[1] * strides[1])
    return "memref<" + joined(shape, "x") + "x" + nameOf(buffer->element) + ">";
  return "memref<" + joined(shape, "x") + "x" + nameOf(buffer->element) +
         ", strided<[" + joined(strides, ", ") + "]>>";
}

std::string Tensor::tensorType() const {
  return "tensor<" + joined(shape, "x") + "x" + nameOf(buffer->element) + ">";
}

/// A tensor of its own, with `gap` elements after each row, head and batch.
static Tensor makeTensor(int64_t b, int64_t t, int64_t h, int64_t d,
                         int64_t gap = 0, Element element = Element::F32) {
  Tensor tensor{{b, t, h, d}, {}, nullptr};
  tensor.strides[3] = 1;
  tensor.strides[2] = std::max<int64_t>(d, 1) + gap;
  tensor.strides[1] = std::max<int64_t>(h, 1) * tensor.strides[2] + gap;
  tensor.strides[0] = std::max<int64_t>(t, 1) * tensor.strides[1] + gap;
  // The gap after the last row does not exist.
  int64_t last = 1;
  for (int i = 0; i < 4; ++i)
    last += (tensor.shape[i] - 1) * tensor.strides[i];
  tensor.buffer = std::make_shared<Buffer>(tensor.count() ? last : 0, element);
  return tensor;
}

/// Three tensors that are slices of one [batch, position, 3, head, width].
static void makePacked(Tensor *tensors[3], int64_t b, int64_t t, int64_t h,
                       int64_t d, Element element) {
  auto buffer = std::make_shared<Buffer>(b * t * 3 * h * d, element);
  for (int64_t i = 0; i < 3; ++i)
    *tensors[i] = {
        {b, t, h, d}, {t * 3 * h * d, 3 * h * d, d, 1}, buffer, i * h * d};
}

static void fill(Tensor &tensor, std::mt19937 &random) {
  std::normal_distribution<float> normal;
  for (int64_t b = 0; b < tensor.shape[0]; ++b)
    for (int64_t t = 0; t < tensor.shape[1]; ++t)
      for (int64_t h = 0; h < tensor.shape[2]; ++h)
        for (int64_t d = 0; d < tensor.shape[3]; ++d)
          tensor.at(b, t, h, d) =
              rounded(normal(random), tensor.buffer->element);
}

//===----------------------------------------------------------------------===//
// IR
//===----------------------------------------------------------------------===//

std::string hone::test::describe(const Shape &s) {
  std::ostringstream text;
  text << "B" << s.batch << "_T" << s.queries << "_S" << s.keys << "_H"
       << s.heads << "_G" << s.groups << "_D" << s.width << "_E"
       << s.valueWidth;
  const char *masks[] = {"", "_maskShared", "_maskPerHead", "_maskHidesRow"};
  const char *layouts[] = {"", "_padded", "_packed"};
  text << (s.causal ? "_causal" : "") << masks[int(s.mask)]
       << (s.dropout > 0 ? "_dropout" : "") << layouts[int(s.layout)];
  if (s.element != Element::F32)
    text << "_" << nameOf(s.element);
  if (s.isPart())
    text << "_of_" << joined(s.whole.data(), "x");
  if (s.first)
    text << "_from_" << *s.first;
  for (int64_t run : s.runs)
    text << "_at_" << run;
  const char *segments[] = {"",       "_one",  "_eight",
                            "_short", "_long", "_shuffled"};
  text << segments[int(s.segments)] << (s.keepsSums ? "_sums" : "");
  return text.str();
}

int64_t Shape::positionOf(int64_t t) const {
  if (runs.empty())
    return first.value_or(0) + t;
  int64_t length = queries / int64_t(runs.size());
  return runs[t / length] + t % length;
}

int64_t Shape::numberOf(int64_t b, int64_t h, int64_t t, int64_t u) const {
  if (!isPart())
    return ((b * heads + h) * queries + t) * keys + u;
  b += whole[0] - batch;
  h += whole[1] - heads;
  t = runs.empty() ? t + whole[2] - queries : positionOf(t);
  return ((b * whole[1] + h) * whole[2] + t) * whole[3] + u;
}

namespace {
/// Writes a launch of one op as text.
class LaunchText {
public:
  void input(const std::string &memref, const std::string &tensor) {
    std::string name = std::to_string(inputs.size());
    inputs.push_back("%i" + name);
    inputTypes.push_back(memref);
    arguments.push_back("%a" + name + ": " + tensor);
    tensors.push_back(tensor);
  }
  void output(const std::string &memref, const std::string &tensor) {
    outputs.push_back("%o" + std::to_string(outputs.size()));
    outputTypes.push_back(memref);
    results.push_back(tensor);
  }
  void scratch(const std::string &memref) {
    scratches.push_back("%s" + std::to_string(scratches.size()));
    scratchTypes.push_back(memref);
  }
  std::string function(const std::string &name, const std::string &op) const {
    std::ostringstream text;
    text << "plan.function @" << name << " {\n";
    for (size_t i = 0; i < inputs.size(); ++i)
      text << inputs[i] << " = plan.buffer at 0 : " << inputTypes[i] << "\n";
    for (size_t i = 0; i < outputs.size(); ++i)
      text << outputs[i] << " = plan.buffer at 0 : " << outputTypes[i] << "\n";
    for (size_t i = 0; i < scratches.size(); ++i)
      text << scratches[i] << " = plan.buffer at 0 : " << scratchTypes[i]
           << "\n";
    text << "plan.launch attention ins(" << list(inputs) << " : "
         << list(inputTypes) << ") outs(" << list(outputs) << " : "
         << list(outputTypes) << ")";
    if (!scratches.empty())
      text << " scratch(" << list(scratches) << " : " << list(scratchTypes)
           << ")";
    text << " {\n^bb0(" << list(arguments) << "):\n%r:" << results.size()
         << " = " << op << " : (" << list(tensors) << ") -> (" << list(results)
         << ")\nplan.yield ";
    for (size_t i = 0; i < results.size(); ++i)
      text << (i ? ", " : "") << "%r#" << i;
    text << " : " << list(results) << "\n}\n}\n";
    return text.str();
  }

private:
  static std::string list(const std::vector<std::string> &items) {
    std::string text;
    for (const std::string &item : items)
      text += (text.empty() ? "" : ", ") + item;
    return text;
  }
  std::vector<std::string> inputs, inputTypes, outputs, outputTypes, arguments,
      tensors, results, scratches, scratchTypes;
};
} // namespace

/// Three dimensions: [batch, heads, queries].
static std::string lseType(const Tensor &lse, const char *kind) {
  std::ostringstream text;
  text << kind << "<" << lse.shape[0] << "x" << lse.shape[1] << "x"
       << lse.shape[2] << "xf32";
  // An empty buffer has to spell out its strides.
  if (lse.count() == 0 && kind == std::string("memref"))
    text << ", strided<[" << lse.strides[0] << ", " << lse.strides[1] << ", "
         << lse.strides[2] << "]>";
  return text.str() + ">";
}

/// Ids of the documents of row `b`.
static std::vector<int64_t> segmentsOf(const Shape &shape, int64_t b) {
  std::vector<int64_t> ids(shape.keys, 0);
  const int64_t lengths[] = {1, 63, 64, 65, 7, 130};
  int64_t id = -1, end = 0, document = b;
  for (int64_t t = 0; t < shape.keys; ++t)
    switch (shape.segments) {
    case Segments::None:
    case Segments::One:
      break;
    case Segments::Eight:
      ids[t] = t * 8 / shape.keys;
      break;
    case Segments::Short:
    case Segments::Long:
      if (t == end) {
        end +=
            shape.segments == Segments::Long ? 70 + b : lengths[document++ % 6];
        ++id;
      }
      ids[t] = id;
      break;
    case Segments::Shuffled:
      ids[t] = (7 * t + b) % 3 - 1;
      break;
    }
  return ids;
}

void AttentionCase::fillSegments() {
  segments = std::make_unique<Buffer>(2 * shape.batch * shape.keys);
  for (int64_t b = 0; b < shape.batch; ++b)
    llvm::copy(segmentsOf(shape, b), ids() + b * shape.keys);
}

AttentionCase::AttentionCase(const Shape &shape, const std::string &arch)
    : shape(shape) {
  const Shape &s = shape;
  scale = 1.0 / std::sqrt(double(std::max<int64_t>(s.width, 1)));
  int64_t gap = s.layout == Layout::Padded ? 3 : 0;
  Element made = s.keepsSums ? Element::F32 : s.element;
  if (s.layout == Layout::Packed) {
    Tensor *values[3] = {&query, &keyTensor, &value};
    Tensor *grads[3] = {&queryGrad, &keyGrad, &valueGrad};
    makePacked(values, s.batch, s.queries, s.heads, s.width, s.element);
    makePacked(grads, s.batch, s.queries, s.heads, s.width, s.element);
  } else {
    query = makeTensor(s.batch, s.queries, s.heads, s.width, gap, s.element);
    keyTensor = makeTensor(s.batch, s.keys, s.groups, s.width, gap, s.element);
    value = makeTensor(s.batch, s.keys, s.groups, s.valueWidth, gap, s.element);
    queryGrad = makeTensor(s.batch, s.queries, s.heads, s.width, gap, made);
    keyGrad = makeTensor(s.batch, s.keys, s.groups, s.width, gap, made);
    valueGrad = makeTensor(s.batch, s.keys, s.groups, s.valueWidth, gap, made);
  }
  result = makeTensor(s.batch, s.queries, s.heads, s.valueWidth, gap, made);
  output = s.keepsSums ? makeTensor(s.batch, s.queries, s.heads, s.valueWidth,
                                    gap, s.element)
                       : result;
  grad = makeTensor(s.batch, s.queries, s.heads, s.valueWidth, gap, s.element);
  lse = makeTensor(s.batch, s.heads, s.queries, 1);
  if (made != Element::F32) {
    keySums = makeTensor(s.batch, s.keys, s.groups, s.width);
    valueSums = makeTensor(s.batch, s.keys, s.groups, s.valueWidth);
  }
  std::mt19937 random(1);
  for (Tensor *tensor : {&query, &keyTensor, &value, &grad})
    fill(*tensor, random);

  bool hasMask = s.mask != Mask::None;
  if (hasMask) {
    bool shared = s.mask == Mask::Shared;
    mask = makeTensor(shared ? 1 : s.batch, shared ? 1 : s.heads, s.queries,
                      s.keys);
    fill(mask, random);
    float minusInfinity = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < mask.count(); ++i)
      if (random() % 3 == 0)
        mask.data()[i] = minusInfinity;
    for (int64_t b = 0; b < mask.shape[0]; ++b)
      for (int64_t h = 0; h < mask.shape[1]; ++h)
        for (int64_t t = 0; t < s.queries; ++t) {
          mask.at(b, h, t, 0) = 0.25f; // at least one key is seen, but:
          if (s.mask == Mask::HidesRow && t == s.queries / 2 && h == 0)
            for (int64_t u = 0; u < s.keys; ++u)
              mask.at(b, h, t, u) = minusInfinity;
        }
  }

  std::ostringstream attributes;
  attributes.precision(17);
  attributes << (s.causal && !s.first ? " causal" : "") << " scale "
             << std::scientific << scale;
  if (s.dropout > 0)
    attributes << " dropout " << s.dropout << " salt " << salt;
  origin = s.numberOf(0, 0, 0, 0);
  if (!s.runs.empty())
    origin -= s.positionOf(0) * s.whole[3];

  LaunchText forwardText, backwardText;
  auto both = [&](const std::string &memref, const std::string &tensor,
                  void *data) {
    forwardText.input(memref, tensor);
    forwardBuffers.push_back(data);
    backwardText.input(memref, tensor);
    backwardBuffers.push_back(data);
  };
  backwardText.input(grad.memrefType(), grad.tensorType());
  backwardBuffers.push_back(grad.memory());
  std::string forwardOp = "hone.attention ",
              backwardOp = "hone.attention_bwd %a0, ";
  for (Tensor *tensor : {&query, &keyTensor, &value})
    both(tensor->memrefType(), tensor->tensorType(), tensor->memory());
  forwardOp += "%a0, %a1, %a2";
  backwardOp += "%a1, %a2, %a3, %a4, %a5";
  backwardText.input(output.memrefType(), output.tensorType());
  backwardBuffers.push_back(output.memory());
  backwardText.input(lseType(lse, "memref"), lseType(lse, "tensor"));
  backwardBuffers.push_back(lse.memory());
  int forwardNext = 3, backwardNext = 6;
  if (s.first) {
    first = *s.first;
    forwardOp = "hone.decode_attention %a0, %a1, %a2 at %a3";
    forwardText.input("memref<i64>", "tensor<i64>");
    forwardBuffers.push_back(&first);
    ++forwardNext;
  }
  auto optional = [&](const char *keyword, const std::string &memref,
                      const std::string &tensor, void *data) {
    both(memref, tensor, data);
    forwardOp +=
        std::string(" ") + keyword + " %a" + std::to_string(forwardNext++);
    backwardOp +=
        std::string(" ") + keyword + " %a" + std::to_string(backwardNext++);
  };
  if (hasMask)
    optional("mask", mask.memrefType(), mask.tensorType(), mask.memory());
  if (s.segments != Segments::None) {
    fillSegments();
    std::string dims =
        std::to_string(s.batch) + "x" + std::to_string(s.keys) + "xi64>";
    optional(hasMask ? "," : "mask", "memref<" + dims, "tensor<" + dims,
             segments->memory());
  }
  if (!s.runs.empty()) {
    std::string dims = std::to_string(s.runs.size()) + "xi64>";
    optional(hasMask || segments ? "," : "mask", "memref<" + dims,
             "tensor<" + dims, this->shape.runs.data());
  }
  if (s.dropout > 0)
    optional("rng", "memref<3xi64>", "tensor<3xi64>", key);
  if (s.isPart()) {
    optional(",", "memref<i64>", "tensor<i64>", &origin);
    attributes << " of [" << joined(s.whole.data(), ", ") << "]";
  }
  forwardText.output(result.memrefType(), result.tensorType());
  forwardBuffers.push_back(result.memory());
  if (!s.first) {
    forwardText.output(lseType(lse, "memref"), lseType(lse, "tensor"));
    forwardBuffers.push_back(lse.memory());
  }
  for (Tensor *tensor : {&queryGrad, &keyGrad, &valueGrad}) {
    backwardText.output(tensor->memrefType(), tensor->tensorType());
    backwardBuffers.push_back(tensor->memory());
  }
  for (Tensor *sums : {&keySums, &valueSums})
    if (sums->buffer) {
      backwardText.scratch("memref<" + joined(sums->shape, "x") + "xf32>");
      backwardBuffers.push_back(sums->memory());
    }

  context = makeContext();
  std::string text =
      "plan.program @p arena 1099511627776 {\n" +
      forwardText.function("step", forwardOp + attributes.str()) +
      backwardText.function("update", backwardOp + attributes.str()) + "}";
  mlir::OwningOpRef<mlir::ModuleOp> program =
      mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  if (!program) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(1);
  }
  mlir::OpBuilder builder(context.get());
  mlir::OwningOpRef<mlir::ModuleOp> kernels =
      mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(kernels->getBody());
  std::vector<Kernel> emitted;
  program->walk([&](plan::LaunchOp launch) {
    mlir::FailureOr<Kernel> kernel = emitAttention(
        builder, emitted.empty() ? "forward" : "backward", launch);
    if (mlir::failed(kernel))
      std::exit(1);
    emitted.push_back(*kernel);
  });
  forwardItems = emitted[0].items;
  backwardItems = emitted[1].items;
  jit = std::make_unique<Jit>(*kernels, arch);
}

std::vector<Buffer *> AttentionCase::buffers() {
  std::vector<Buffer *> all;
  for (Tensor *tensor : {&query, &keyTensor, &value, &result, &output, &grad,
                         &queryGrad, &keyGrad, &valueGrad})
    all.push_back(tensor->buffer.get());
  return all;
}

void AttentionCase::forwardInMemory(int64_t lo, int64_t hi) {
  jit->call("forward", forwardBuffers, lo, hi);
}

void AttentionCase::backwardInMemory(int64_t lo, int64_t hi) {
  jit->call("backward", backwardBuffers, lo, hi);
}

void AttentionCase::forward(int64_t lo, int64_t hi) {
  for (Buffer *buffer : buffers())
    buffer->toMemory();
  forwardInMemory(lo, hi);
  for (Buffer *buffer : buffers())
    buffer->fromMemory();
}

void AttentionCase::backward(int64_t lo, int64_t hi) {
  if (shape.keepsSums)
    std::copy_n(result.buffer->data(), result.buffer->size(),
                output.buffer->data());
  for (Buffer *buffer : buffers())
    buffer->toMemory();
  backwardInMemory(lo, hi);
  for (Buffer *buffer : buffers())
    buffer->fromMemory();
}
