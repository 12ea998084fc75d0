//===- PlanAttention.cpp - hone-plan-attention: ask cuDNN without a GPU ---===//
//
// Reads attention problems (honert_attention in abi.def), one per line, and
// answers one line each, in order:
//   plan BYTES FILE    FILE holds the plan, BYTES are its workspace's
//   refused REASON
// after a first line "cudnn VERSION". A process of its own: what happens inside
// the library, and the driver it is shown, stay out of the compiler.
//
//===----------------------------------------------------------------------===//

#include "base/NearestName.h"
#include "emulation/cudnn/FakeCudnn.h"
#include "exec/cuda/attention/GpuProperties.h"
#include "exec/cuda/attention/Plan.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fstream>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

using namespace honert;

static const char *const usage =
    "usage: hone-plan-attention --arch=sm_NN --out=FOLDER [--library=PATH] "
    "[--emulate] < PROBLEMS\n"
    "       hone-plan-attention --version [--library=PATH] [--emulate]\n"
    "Makes plans of cuDNN for attention problems, one per line of the input, "
    "without a GPU.\n"
    "cuDNN 9 is taken from --library (libcudnn_graph.so.9 or its folder), "
    "$HONE_CUDNN, where\nthe build found it, or where the loader looks.\n";

namespace {
struct Options {
  int arch = 0;
  std::string out, library;
  bool emulates = false, showsVersion = false, showsHelp = false;

  Status read(int argc, char **argv);
};
} // namespace

Status Options::read(int argc, char **argv) {
  for (int i = 1; i != argc; ++i) {
    std::string argument = argv[i];
    auto value = [&](const char *flag, std::string &target) {
      if (argument.rfind(flag, 0) != 0)
        return false;
      target = argument.substr(std::strlen(flag));
      return true;
    };
    std::string archText;
    if (value("--arch=sm_", archText)) {
      arch = std::atoi(archText.c_str());
      if (!emulates && deviceProperties(arch).empty())
        return Status::error("--arch=sm_" + archText +
                             ": not known; expected one of" +
                             knownArchitectures());
    } else if (argument == "--emulate") {
      emulates = true;
    } else if (argument == "--version") {
      showsVersion = true;
    } else if (argument == "--help") {
      showsHelp = true;
    } else if (!value("--out=", out) && !value("--library=", library)) {
      std::string name = argument.substr(0, argument.find('='));
      std::string nearest(nearestName(
          name, {"--arch", "--out", "--library", "--emulate", "--version"}));
      return Status::usage(
          name + ": not an option (see --help)" +
          (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
    }
  }
  if (!showsHelp && !showsVersion && (arch == 0 || out.empty()))
    return Status::usage(
        "--arch=sm_NN and --out=FOLDER are needed (see --help)");
  return Status();
}

//===----------------------------------------------------------------------===//
// Opening the library
//===----------------------------------------------------------------------===//

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

static std::string folderOfThisProgram() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return folderOf(std::string(path, length > 0 ? size_t(length) : 0));
}

/// Libraries are looked up by the names they give themselves: one that is open
/// already is the one that cuDNN gets.
static bool preload(const std::string &path) {
  return dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr;
}

static Status preloadNullDriver() {
  std::string folder = folderOfThisProgram() + "/../lib/hone-null-driver/";
  for (const char *name :
       {"libcuda.so.1", "libcublasLt.so.12", "libcublasLt.so.13"})
    if (!preload(folder + name))
      return Status::error(format("%s%s: cannot be opened (%s); it is built "
                                  "with this program",
                                  folder.c_str(), name, dlerror()));
  return Status();
}

/// The run-time compiler of the wheels that bring cuDNN. Elsewhere the loader
/// finds one; it finds not even these wheels' builtins.
static void preloadCompiler(const std::string &folderOfCudnn) {
  for (const char *place : {"/../../cu13/lib", "/../../cuda_nvrtc/lib"})
    for (const char *prefix : {"libnvrtc-builtins.so.", "libnvrtc.so."}) {
      std::string folder = folderOfCudnn + place;
      DIR *directory = opendir(folder.c_str());
      if (!directory)
        continue;
      while (const dirent *entry = readdir(directory))
        if (std::strncmp(entry->d_name, prefix, std::strlen(prefix)) == 0)
          (void)preload(folder + "/" + entry->d_name);
      closedir(directory);
    }
}

static bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Where pip puts cuDNN beside the package that brings this program
/// (tools/build-wheel.sh), or where it was when this was built; else "".
static std::string knownFolder() {
  for (const std::string &folder :
       {folderOfThisProgram() + "/../../../nvidia/cudnn/lib",
        std::string(HONE_CUDNN_FOLDER)})
    if (isFolder(folder))
      return folder;
  return "";
}

/// Where --library and the environment say, or a known place; the loader's name
/// if there is none.
static std::string libraryPath(const std::string &option) {
  const char *variable = std::getenv("HONE_CUDNN");
  std::string path = !option.empty()         ? option
                     : variable && *variable ? variable
                                             : knownFolder();
  if (path.empty())
    return cudnnLibrary;
  if (isFolder(path))
    path += std::string("/") + cudnnLibrary;
  return path;
}

static Status openLibrary(const Options &options, CudnnFunctions &cudnn) {
  if (options.emulates)
    return cudnn.take(cudnnLibrary, fake::findCudnn);
  std::string path = libraryPath(options.library);
  HONERT_TRY(preloadNullDriver());
  if (path.find('/') != std::string::npos)
    preloadCompiler(folderOf(path));
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status::error(format("%s: cannot be opened (%s); expected cuDNN 9 "
                                "(see --library)",
                                path.c_str(), dlerror()));
  return cudnn.take(path,
                    [&](const char *name) { return dlsym(handle, name); });
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

static Status planOne(const CudnnFunctions &cudnn,
                      const AttentionProblem &problem, const Options &options,
                      const std::string &path, int64_t &bytes) {
  HONERT_TRY(checkSupport(problem, options.arch, cudnn.cudnnGetVersion()));
  AttentionPlan plan(cudnn, problem), again(cudnn, problem);
  std::string text;
  HONERT_TRY(plan.build(options.arch));
  HONERT_TRY(plan.text(text));
  HONERT_TRY(again.load(text, options.arch)); // as the executable will
  bytes = again.workspaceBytes();
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) // nothing that another problem could do better
    return Status::usage(path + ": cannot be written");
  return Status();
}

static Status planAll(const CudnnFunctions &cudnn, const Options &options) {
  std::string line;
  for (int index = 0; std::getline(std::cin, line); ++index) {
    AttentionProblem problem;
    HONERT_TRY(AttentionProblem::parse(line, problem));
    std::string path = options.out + "/plan" + std::to_string(index) + ".json";
    int64_t bytes = 0;
    Status planned = planOne(cudnn, problem, options, path, bytes);
    if (planned.exitCode() == 2)
      return Status::error(planned.message());
    if (planned.ok())
      std::printf("plan %lld %s\n", static_cast<long long>(bytes),
                  path.c_str());
    else
      std::printf("refused %s\n", planned.message().c_str());
    std::fflush(stdout);
  }
  return Status();
}

static Status run(int argc, char **argv) {
  Options options;
  HONERT_TRY(options.read(argc, argv));
  if (options.showsHelp) {
    std::fputs(usage, stdout);
    return Status();
  }
  CudnnFunctions cudnn;
  HONERT_TRY(openLibrary(options, cudnn));
  std::printf("cudnn %s\n",
              options.emulates ? "emulated" : cudnn.versionText().c_str());
  std::fflush(stdout);
  return options.showsVersion ? Status() : planAll(cudnn, options);
}

int main(int argc, char **argv) {
  Status status = run(argc, argv);
  if (!status.ok())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  std::fflush(nullptr);
  // The library's threads and destructors have nothing left to do here.
  _exit(status.exitCode());
}
