//===- Convolution.cpp - Convolutions by oneDNN ---------------------------===//

#include "exec/cpu/Convolution.h"
#include "exec/cpu/Matrices.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <tuple>

using namespace honert;

static int64_t wholeLines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t indexOf(ConvolutionPart part) {
  return static_cast<size_t>(part);
}

constexpr ConvolutionPart allParts[] = {
    ConvolutionPart::output, ConvolutionPart::image, ConvolutionPart::kernel};

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

bool ConvolutionLibrary::Problem::operator<(const Problem &other) const {
  auto key = [](const Problem &p) {
    std::vector<int64_t> dims;
    for (const ConvolutionLaunch::Dim &dim : p.launch.dims)
      dims.insert(dims.end(), {dim.image, dim.kernel, dim.output, dim.stride,
                               dim.dilation, dim.low, dim.high});
    const ConvolutionLaunch &l = p.launch;
    return std::tuple(l.computed, l.batch, l.channels, l.outputs, l.groups,
                      dims, p.types);
  };
  return key(*this) < key(other);
}

ConvolutionLibrary::~ConvolutionLibrary() {
  for (auto &entry : primitives)
    engine.dnnl.dnnl_primitive_destroy(entry.second.primitive);
}

std::string ConvolutionLibrary::versionText() const {
  return primitives.empty() ? "" : engine.dnnl.versionText();
}

/// Sizes in the library's order: batch, channels, positions; of the kernel
/// groups (where there are several), outputs and channels of one, taps.
static int dnnlDims(const ConvolutionLaunch &launch, ConvolutionPart part,
                    dnnl_dims_t dims) {
  int rank = 0;
  if (part != ConvolutionPart::kernel) {
    dims[rank++] = launch.batch;
    dims[rank++] =
        part == ConvolutionPart::image ? launch.channels : launch.outputs;
  } else {
    if (launch.groups != 1)
      dims[rank++] = launch.groups;
    dims[rank++] = launch.outputs / launch.groups;
    dims[rank++] = launch.channels / launch.groups;
  }
  for (const ConvolutionLaunch::Dim &dim : launch.dims)
    dims[rank++] = part == ConvolutionPart::image    ? dim.image
                   : part == ConvolutionPart::kernel ? dim.kernel
                                                     : dim.output;
  return rank;
}

/// The kernel as the program has it: [K..., C / G, O].
static dnnl_status_t describeKernel(const DnnlFunctions &dnnl,
                                    const ConvolutionLaunch &launch,
                                    DType dtype, dnnl_memory_desc_t &desc) {
  dnnl_dims_t dims, strides;
  int rank = dnnlDims(launch, ConvolutionPart::kernel, dims), at = 0;
  if (launch.groups != 1)
    strides[at++] = launch.outputs / launch.groups;
  strides[at++] = 1;
  strides[at++] = launch.outputs;
  int64_t step = launch.channels / launch.groups * launch.outputs;
  for (int dim = rank; dim-- != at; step *= dims[dim])
    strides[dim] = step;
  return dnnl.dnnl_memory_desc_init_by_strides(&desc, rank, dims,
                                               dnnlType(dtype), strides);
}

/// A tensor whose channels are last, or a kernel whose layout the library
/// chooses.
static dnnl_status_t describeTensor(const DnnlFunctions &dnnl,
                                    const ConvolutionLaunch &launch,
                                    ConvolutionPart part, DType dtype,
                                    dnnl_memory_desc_t &desc) {
  const dnnl_format_tag_t channelsLast[] = {dnnl_nwc, dnnl_nhwc, dnnl_ndhwc};
  dnnl_dims_t dims;
  int rank = dnnlDims(launch, part, dims);
  dnnl_format_tag_t tag = part == ConvolutionPart::kernel
                              ? dnnl_format_tag_any
                              : channelsLast[launch.dims.size() - 1];
  return dnnl.dnnl_memory_desc_init_by_tag(&desc, rank, dims, dnnlType(dtype),
                                           tag);
}

namespace {
/// The window as the library has it.
struct DnnlWindow {
  explicit DnnlWindow(const ConvolutionLaunch &launch) {
    for (size_t i = 0; i != launch.dims.size(); ++i) {
      strides[i] = launch.dims[i].stride;
      dilations[i] = launch.dims[i].dilation - 1;
      low[i] = launch.dims[i].low;
      high[i] = launch.dims[i].high;
    }
  }
  dnnl_dims_t strides, dilations, low, high;
};
} // namespace

/// The convolution itself, of the tensors [output, image, kernel].
static dnnl_status_t
describeForward(const DnnlEngine &engine, const DnnlWindow &window,
                const std::array<dnnl_memory_desc_t, 3> &tensors,
                dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t &desc) {
  const auto &[output, image, kernel] = tensors;
  dnnl_convolution_desc_t operation;
  dnnl_status_t status = engine.dnnl.dnnl_dilated_convolution_forward_desc_init(
      &operation, dnnl_forward_training, dnnl_convolution_direct, &image,
      &kernel, nullptr, &output, window.strides, window.dilations, window.low,
      window.high);
  if (status != dnnl_success)
    return status;
  return engine.dnnl.dnnl_primitive_desc_create(&desc, &operation, attributes,
                                                engine.handle(), nullptr);
}

static dnnl_status_t describeBackward(
    const DnnlEngine &engine, const DnnlWindow &window,
    ConvolutionPart computed, const std::array<dnnl_memory_desc_t, 3> &tensors,
    dnnl_primitive_attr_t attributes, const_dnnl_primitive_desc_t forward,
    dnnl_primitive_desc_t &desc) {
  const DnnlFunctions &dnnl = engine.dnnl;
  const auto &[output, image, kernel] = tensors;
  dnnl_convolution_desc_t operation;
  dnnl_status_t status =
      computed == ConvolutionPart::image
          ? dnnl.dnnl_dilated_convolution_backward_data_desc_init(
                &operation, dnnl_convolution_direct, &image, &kernel, &output,
                window.strides, window.dilations, window.low, window.high)
          : dnnl.dnnl_dilated_convolution_backward_weights_desc_init(
                &operation, dnnl_convolution_direct, &image, &kernel, nullptr,
                &output, window.strides, window.dilations, window.low,
                window.high);
  if (status != dnnl_success)
    return status;
  return dnnl.dnnl_primitive_desc_create(&desc, &operation, attributes,
                                         engine.handle(), forward);
}

/// Describes the tensors and the operation. A gradient wants to know of the
/// convolution that it belongs to, whose tensors have the operands' type.
dnnl_status_t ConvolutionLibrary::describe(const Problem &problem,
                                           Primitive &primitive,
                                           dnnl_primitive_desc_t &desc) const {
  const DnnlFunctions &dnnl = engine.dnnl;
  const ConvolutionLaunch &launch = problem.launch;
  bool isForward = launch.computed == ConvolutionPart::output;
  DType operand = problem.types[indexOf(isForward ? ConvolutionPart::image
                                                  : ConvolutionPart::output)];
  std::array<dnnl_memory_desc_t, 3> forwardTensors;
  for (ConvolutionPart part : allParts) {
    DType own = problem.types[indexOf(part)];
    dnnl_status_t status = describeTensor(dnnl, launch, part, own,
                                          primitive.tensors[indexOf(part)]);
    if (status == dnnl_success)
      status = describeTensor(dnnl, launch, part, isForward ? own : operand,
                              forwardTensors[indexOf(part)]);
    if (status != dnnl_success)
      return status;
  }
  DnnlWindow window(launch);
  dnnl_primitive_attr_t attributes;
  if (dnnl_status_t status = dnnl.dnnl_primitive_attr_create(&attributes);
      status != dnnl_success)
    return status;
  dnnl.dnnl_primitive_attr_set_scratchpad_mode(attributes,
                                               dnnl_scratchpad_mode_user);
  dnnl_primitive_desc_t forward = nullptr;
  dnnl_status_t status =
      describeForward(engine, window, forwardTensors, attributes, forward);
  if (isForward) {
    desc = forward;
  } else if (status == dnnl_success) {
    status = describeBackward(engine, window, launch.computed,
                              primitive.tensors, attributes, forward, desc);
    dnnl.dnnl_primitive_desc_destroy(forward);
  }
  dnnl.dnnl_primitive_attr_destroy(attributes);
  return status;
}

/// Makes the primitive that `desc` describes, and destroys that.
Status ConvolutionLibrary::finish(const std::string &name,
                                  dnnl_primitive_desc_t desc,
                                  Primitive &primitive) const {
  const DnnlFunctions &dnnl = engine.dnnl;
  primitive.scratch =
      *dnnl.dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  primitive.scratchBytes =
      wholeLines(dnnl.dnnl_memory_desc_get_size(&primitive.scratch));
  const char *implementation = "";
  dnnl.dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0,
                                 &implementation);
  primitive.implementation = implementation;
  dnnl_status_t status = dnnl.dnnl_primitive_create(&primitive.primitive, desc);
  dnnl.dnnl_primitive_desc_destroy(desc);
  return checkDnnl(status, "make a primitive", "convolution " + name);
}

Status ConvolutionLibrary::build(const std::string &name,
                                 const Problem &problem,
                                 Primitive &primitive) const {
  ThreadPool::Alone alone(pool);
  dnnl_primitive_desc_t desc = nullptr;
  HONERT_TRY(checkDnnl(describe(problem, primitive, desc),
                       "find an implementation", "convolution " + name));
  dnnl_memory_desc_t &kernel =
      primitive.tensors[indexOf(ConvolutionPart::kernel)];
  bool computesKernel = problem.launch.computed == ConvolutionPart::kernel;
  kernel = *engine.dnnl.dnnl_primitive_desc_query_md(
      desc, computesKernel ? dnnl_query_diff_weights_md : dnnl_query_weights_md,
      0);
  primitive.kernelBytes =
      wholeLines(engine.dnnl.dnnl_memory_desc_get_size(&kernel));
  return finish(name, desc, primitive);
}

Status ConvolutionLibrary::lookUp(const std::string &name,
                                  const Problem &problem,
                                  const Primitive *&primitive) {
  auto [entry, isNew] = primitives.try_emplace(problem);
  if (isNew) {
    if (Status status = build(name, problem, entry->second); !status.ok()) {
      primitives.erase(entry);
      return status;
    }
  }
  primitive = &entry->second;
  return Status();
}

Status ConvolutionLibrary::makeReorder(const std::string &name,
                                       const dnnl_memory_desc_t &from,
                                       const dnnl_memory_desc_t &to,
                                       Primitive &reorder) const {
  const DnnlFunctions &dnnl = engine.dnnl;
  dnnl_primitive_attr_t attributes;
  HONERT_TRY(checkDnnl(dnnl.dnnl_primitive_attr_create(&attributes),
                       "make attributes", "convolution " + name));
  dnnl.dnnl_primitive_attr_set_scratchpad_mode(attributes,
                                               dnnl_scratchpad_mode_user);
  dnnl_primitive_desc_t desc = nullptr;
  dnnl_status_t status = dnnl.dnnl_reorder_primitive_desc_create(
      &desc, &from, engine.handle(), &to, engine.handle(), attributes);
  dnnl.dnnl_primitive_attr_destroy(attributes);
  HONERT_TRY(checkDnnl(status, "copy its kernel", "convolution " + name));
  return finish(name, desc, reorder);
}

Status ConvolutionLibrary::prepare(const std::string &name,
                                   const ConvolutionLaunch &launch,
                                   std::unique_ptr<Convolution> &convolution) {
  HONERT_TRY(engine.start());
  convolution = std::make_unique<Convolution>(*this, name, launch);
  HONERT_TRY(convolution->prepare());
  workspace = std::max(workspace, convolution->neededBytes());
  return Status();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

int64_t Convolution::Tensor::copyBytes() const {
  return dtype == libraryType ? 0
                              : wholeLines(elements * byteWidth(libraryType));
}

Convolution::Convolution(ConvolutionLibrary &library, std::string name,
                         const ConvolutionLaunch &launch)
    : library(library), name(std::move(name)), launch(launch) {
  bool isMultiplied =
      launch.operand == DType::f32 ||
      (launch.operand == DType::bf16 && library.engine.hasBFloatUnits());
  DType multiplied = isMultiplied ? launch.operand : DType::f32;
  for (ConvolutionPart part : allParts) {
    Shape shape = launch.shapeOf(part);
    int64_t elements = 1;
    for (int64_t size : shape)
      elements *= size;
    DType type = multiplied;
    if (isComputed(part))
      type = isMultiplied && part != ConvolutionPart::kernel ? launch.result
                                                             : DType::f32;
    tensor(part) = {launch.typeOf(part), type, elements, shape.back()};
  }
}

Convolution::~Convolution() {
  if (reorder.primitive)
    library.engine.dnnl.dnnl_primitive_destroy(reorder.primitive);
}

/// Images per call, a divisor of the batch: one, or several where one is little
/// work. Partial sums of a kernel take memory for each part: 8 or fewer.
void Convolution::chooseParts(bool sumsParts) {
  constexpr double littleWork = 0x1p22; // FLOP: some 50 us
  constexpr int64_t mostSums = 8, mostBytes = 64 << 20;
  double work = 2.0 *
                static_cast<double>(tensor(ConvolutionPart::output).elements) *
                static_cast<double>(tensor(ConvolutionPart::kernel).elements) /
                static_cast<double>(launch.outputs);
  int64_t kernelBytes =
      tensor(ConvolutionPart::kernel).elements * byteWidth(DType::f32);
  int64_t most = launch.batch;
  if (sumsParts)
    most = std::clamp<int64_t>(mostBytes / kernelBytes, 1,
                               std::min(mostSums, launch.batch));
  for (parts = most; parts > 1; --parts)
    if (launch.batch % parts == 0 &&
        work / static_cast<double>(parts) >= littleWork)
      break;
  imagesPerPart = launch.batch / parts;
}

Status Convolution::prepare() {
  bool sumsParts = isComputed(ConvolutionPart::kernel);
  chooseParts(sumsParts);
  ConvolutionLibrary::Problem problem{launch, {}};
  problem.launch.batch = imagesPerPart;
  for (ConvolutionPart part : allParts)
    problem.types[indexOf(part)] = tensor(part).libraryType;
  HONERT_TRY(library.lookUp(name, problem, primitive));
  DType kernelType = tensor(ConvolutionPart::kernel).libraryType;
  HONERT_TRY(checkDnnl(
      describeKernel(library.engine.dnnl, launch, kernelType, plainKernel),
      "describe its kernel", "convolution " + name));
  const dnnl_memory_desc_t &blocked =
      primitive->tensors[indexOf(ConvolutionPart::kernel)];
  return sumsParts ? library.makeReorder(name, blocked, plainKernel, reorder)
                   : library.makeReorder(name, plainKernel, blocked, reorder);
}

int64_t Convolution::neededBytes() const {
  int64_t bytes = 0;
  for (const Tensor &tensor : tensors)
    bytes += tensor.copyBytes();
  int64_t kernels = isComputed(ConvolutionPart::kernel) ? parts : 1;
  return bytes + kernels * primitive->kernelBytes +
         std::max(library.pool.size() * primitive->scratchBytes,
                  reorder.scratchBytes);
}

void Convolution::bind(char *arena, char *workspace) {
  for (ConvolutionPart part : allParts) {
    Tensor &bound = tensor(part);
    bound.data = bound.library = arena + launch.offsetOf(part);
    if (int64_t bytes = bound.copyBytes()) {
      bound.library = workspace;
      workspace += bytes;
    }
  }
  kernels = workspace;
  bool sumsParts = isComputed(ConvolutionPart::kernel);
  scratch = kernels + (sumsParts ? parts : 1) * primitive->kernelBytes;
}

//===----------------------------------------------------------------------===//
// The work
//===----------------------------------------------------------------------===//

/// Between a tensor and what the library has of it, where the types differ.
void Convolution::copy(const Tensor &tensor, bool back) const {
  if (tensor.data == tensor.library)
    return;
  int64_t rows = tensor.elements / tensor.channels;
  MatrixStrides strides = denseStrides(rows, tensor.channels);
  Matrices own{tensor.data, tensor.dtype, strides},
      other{tensor.library, tensor.libraryType, strides};
  copyMatrices(library.pool, 1, rows, tensor.channels, back ? other : own,
               back ? own : other);
}

dnnl_status_t Convolution::runPart(int64_t part, int thread) const {
  auto imagesFrom = [&](ConvolutionPart which) {
    const Tensor &of = tensor(which);
    return of.library + of.elements / parts * part * byteWidth(of.libraryType);
  };
  const auto &[output, image, kernel] = primitive->tensors;
  bool sumsParts = isComputed(ConvolutionPart::kernel);
  bool computesImage = isComputed(ConvolutionPart::image);
  bool computesOutput = isComputed(ConvolutionPart::output);
  return library.engine.execute(
      primitive->primitive, thread,
      {{computesImage ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, &image,
        imagesFrom(ConvolutionPart::image)},
       {sumsParts ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, &kernel,
        kernels + (sumsParts ? part * primitive->kernelBytes : 0)},
       {computesOutput ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, &output,
        imagesFrom(ConvolutionPart::output)},
       {DNNL_ARG_SCRATCHPAD, &primitive->scratch,
        scratch + thread * primitive->scratchBytes}});
}

dnnl_status_t Convolution::runParts() const {
  std::atomic<dnnl_status_t> worst{dnnl_success};
  library.pool.runInside(parts, [&](int64_t lo, int64_t hi) {
    for (int64_t part = lo; part < hi; ++part)
      if (dnnl_status_t status = runPart(part, ThreadPool::self());
          status != dnnl_success)
        worst = status;
  });
  return worst;
}

/// The kernel from the program's layout to the library's, or back.
dnnl_status_t Convolution::runReorder() const {
  const dnnl_memory_desc_t &blocked =
      primitive->tensors[indexOf(ConvolutionPart::kernel)];
  char *plain = tensor(ConvolutionPart::kernel).library;
  bool back = isComputed(ConvolutionPart::kernel);
  return library.engine.execute(
      reorder.primitive, 0,
      {{DNNL_ARG_FROM, back ? &blocked : &plainKernel, back ? kernels : plain},
       {DNNL_ARG_TO, back ? &plainKernel : &blocked, back ? plain : kernels},
       {DNNL_ARG_SCRATCHPAD, &reorder.scratch, scratch}});
}

/// Adds the kernels of all parts to the first, in order.
void Convolution::addPartialSums() const {
  int64_t elements = primitive->kernelBytes / byteWidth(DType::f32);
  auto *sums = reinterpret_cast<float *>(kernels);
  library.pool.run(elements, 4096, [&](int64_t lo, int64_t hi) {
    for (int64_t part = 1; part < parts; ++part) {
      const float *more = sums + part * elements;
      for (int64_t i = lo; i < hi; ++i)
        sums[i] += more[i];
    }
  });
}

Status Convolution::run() const {
  for (ConvolutionPart part : allParts)
    if (!isComputed(part))
      copy(tensor(part), /*back=*/false);
  bool sumsParts = isComputed(ConvolutionPart::kernel);
  if (!sumsParts)
    HONERT_TRY(
        checkDnnl(runReorder(), "copy its kernel", "convolution " + name));
  HONERT_TRY(checkDnnl(runParts(), "run", "convolution " + name));
  if (sumsParts) {
    addPartialSums();
    HONERT_TRY(
        checkDnnl(runReorder(), "copy its kernel", "convolution " + name));
  }
  copy(tensor(launch.computed), /*back=*/true);
  return Status();
}
