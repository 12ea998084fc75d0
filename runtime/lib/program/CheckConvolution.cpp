//===- CheckConvolution.cpp - What honert_convolution demands -------------===//

#include "program/Program.h"

#include <algorithm>

using namespace honert;

Shape ConvolutionLaunch::shapeOf(ConvolutionPart part) const {
  Shape shape;
  if (part != ConvolutionPart::kernel)
    shape.push_back(batch);
  for (const Dim &dim : dims)
    shape.push_back(part == ConvolutionPart::image    ? dim.image
                    : part == ConvolutionPart::kernel ? dim.kernel
                                                      : dim.output);
  if (part == ConvolutionPart::kernel)
    shape.push_back(channels / groups);
  shape.push_back(part == ConvolutionPart::image ? channels : outputs);
  return shape;
}

int64_t ConvolutionLaunch::offsetOf(ConvolutionPart part) const {
  return part == ConvolutionPart::image    ? image
         : part == ConvolutionPart::kernel ? kernel
                                           : output;
}

/// Sizes that no product below overflows with.
static bool isSize(int64_t value) { return value >= 1 && value <= INT32_MAX; }

static bool fits(const ConvolutionLaunch::Dim &dim) {
  if (!isSize(dim.image) || !isSize(dim.kernel) || !isSize(dim.output) ||
      !isSize(dim.stride) || !isSize(dim.dilation) || !isSize(dim.low + 1) ||
      !isSize(dim.high + 1))
    return false;
  int64_t room =
      dim.image + dim.low + dim.high - (dim.kernel - 1) * dim.dilation - 1;
  return room >= 0 && room / dim.stride + 1 == dim.output;
}

Status ConvolutionLaunch::check(const std::string &name,
                                int64_t arenaBytes) const {
  auto fails = [&](const char *what) {
    return Status::error(
        format("program: convolution %s %s", name.c_str(), what));
  };
  if (operand != DType::f32 && operand != DType::bf16 && operand != DType::f16)
    return fails("multiplies elements other than f32, bf16 or f16");
  if (result != DType::f32 && result != operand)
    return fails("computes elements of another type than f32 or its operands'");
  if (!isSize(batch) || !isSize(channels) || !isSize(outputs) ||
      !isSize(groups) || channels % groups != 0 || outputs % groups != 0)
    return fails("has sizes that are not positive, or channels that are no "
                 "multiple of its groups");
  if (!std::all_of(dims.begin(), dims.end(), fits))
    return fails("has spatial sizes that do not fit together");
  for (auto part : {ConvolutionPart::output, ConvolutionPart::image,
                    ConvolutionPart::kernel}) {
    std::optional<int64_t> bytes = byteCount(typeOf(part), shapeOf(part));
    int64_t offset = offsetOf(part);
    if (!bytes || offset < 0 || offset > arenaBytes ||
        *bytes > arenaBytes - offset)
      return fails("reaches outside the arena");
  }
  return Status();
}
