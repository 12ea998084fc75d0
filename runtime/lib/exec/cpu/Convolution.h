//===- Convolution.h - Convolutions by oneDNN -----------------------------===//

#ifndef HONERT_EXEC_CPU_CONVOLUTION_H
#define HONERT_EXEC_CPU_CONVOLUTION_H

#include "exec/cpu/DnnlEngine.h"
#include "program/Program.h"

#include <map>
#include <memory>

namespace honert {

class Convolution;

/// One primitive per distinct problem. Primitives keep no state: their scratch
/// memory is part of a workspace that all convolutions of a program share.
class ConvolutionLibrary {
public:
  ConvolutionLibrary(const ThreadPool &pool, DnnlEngine &engine)
      : pool(pool), engine(engine) {}
  ~ConvolutionLibrary();
  ConvolutionLibrary(const ConvolutionLibrary &) = delete;
  ConvolutionLibrary &operator=(const ConvolutionLibrary &) = delete;

  /// Makes `launch` ready to run, the primitives included. All convolutions are
  /// prepared before the first is bound.
  Status prepare(const std::string &name, const ConvolutionLaunch &launch,
                 std::unique_ptr<Convolution> &convolution);
  /// Bytes the workspace needs for every convolution prepared so far.
  int64_t workspaceBytes() const { return workspace; }
  /// "oneDNN 2.6.3", or empty if no convolution was prepared.
  std::string versionText() const;

  /// What one call computes, on one thread: images and outputs have channels
  /// last, the kernel lies as the library likes.
  struct Problem {
    ConvolutionLaunch launch; ///< its sizes, of the images of a call
    /// Types of the library's tensors, by ConvolutionPart.
    std::array<DType, 3> types;

    bool operator<(const Problem &other) const;
  };
  struct Primitive {
    dnnl_primitive_t primitive = nullptr;
    /// By ConvolutionPart.
    std::array<dnnl_memory_desc_t, 3> tensors;
    dnnl_memory_desc_t scratch;
    int64_t kernelBytes = 0, scratchBytes = 0;
    std::string implementation;
  };

  Status lookUp(const std::string &name, const Problem &problem,
                const Primitive *&primitive);
  /// A primitive that copies a tensor to another layout, and the memory it
  /// needs besides. The caller destroys it.
  Status makeReorder(const std::string &name, const dnnl_memory_desc_t &from,
                     const dnnl_memory_desc_t &to, Primitive &reorder) const;

  const ThreadPool &pool;
  DnnlEngine &engine;

private:
  Status build(const std::string &name, const Problem &problem,
               Primitive &primitive) const;
  dnnl_status_t describe(const Problem &problem, Primitive &primitive,
                         dnnl_primitive_desc_t &desc) const;
  Status finish(const std::string &name, dnnl_primitive_desc_t desc,
                Primitive &primitive) const;

  std::map<Problem, Primitive> primitives;
  int64_t workspace = 0;
};

/// One convolution of the program, ready to run. Its images are divided into
/// parts, which depend on its shape alone; each is a call on one thread. The
/// gradient with respect to the kernel has partial sums for each part, which
/// are added in order.
class Convolution {
public:
  Convolution(ConvolutionLibrary &library, std::string name,
              const ConvolutionLaunch &launch);
  ~Convolution();
  Convolution(const Convolution &) = delete;
  Convolution &operator=(const Convolution &) = delete;

  Status prepare();
  /// Bytes of workspace that a run needs.
  int64_t neededBytes() const;
  /// Gives it its tensors' arena and a workspace.
  void bind(char *arena, char *workspace);
  Status run() const;
  /// What the library calls its implementation.
  const std::string &implementation() const {
    return primitive->implementation;
  }

private:
  /// A tensor in the arena, as the library sees it: the same, or a copy of
  /// another type.
  struct Tensor {
    DType dtype, libraryType;
    int64_t elements, channels;
    char *data = nullptr, *library = nullptr;

    int64_t copyBytes() const;
  };
  bool isComputed(ConvolutionPart part) const {
    return launch.computed == part;
  }
  Tensor &tensor(ConvolutionPart part) {
    return tensors[static_cast<size_t>(part)];
  }
  const Tensor &tensor(ConvolutionPart part) const {
    return tensors[static_cast<size_t>(part)];
  }
  void chooseParts(bool sumsParts);
  void copy(const Tensor &tensor, bool back) const;
  dnnl_status_t runPart(int64_t part, int thread) const;
  dnnl_status_t runParts() const;
  dnnl_status_t runReorder() const;
  void addPartialSums() const;

  ConvolutionLibrary &library;
  std::string name;
  ConvolutionLaunch launch;
  std::array<Tensor, 3> tensors; // by ConvolutionPart
  int64_t parts = 1, imagesPerPart = 1;
  const ConvolutionLibrary::Primitive *primitive = nullptr;
  dnnl_memory_desc_t plainKernel;
  ConvolutionLibrary::Primitive reorder; // of the kernel
  char *kernels = nullptr;               // as the library likes, of each part
  char *scratch = nullptr;
};

} // namespace honert

#endif // HONERT_EXEC_CPU_CONVOLUTION_H
