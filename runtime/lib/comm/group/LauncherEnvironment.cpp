//===- LauncherEnvironment.cpp - How this process was started -------------===//

#include "comm/group/LauncherEnvironment.h"

#include <cerrno>
#include <cstdlib>

using namespace honert;

namespace {
/// The variables in which a launcher tells a process its place.
struct Launcher {
  const char *name;
  const char *rank, *size;
  const char *localRank, *localSize; ///< may be missing
};
} // namespace

static constexpr Launcher mpirun = {
    "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
static constexpr Launcher torchrun = {"torchrun", "RANK", "WORLD_SIZE",
                                      "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
static constexpr Launcher pmi = {"PMI", "PMI_RANK", "PMI_SIZE",
                                 "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
static constexpr Launcher srun = {"srun", "SLURM_PROCID",
                                  "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};

/// A whole number from `least` to `most`.
static Status readNumber(const Environment &environment, const char *name,
                         int64_t least, int64_t most, int64_t &value) {
  const char *text = environment(name);
  char *end = nullptr;
  errno = 0;
  value = std::strtoll(text, &end, 10);
  if (end == text || *end || errno || value < least || value > most)
    return Status::error(format("%s: '%s' in the environment, expected a whole "
                                "number from %lld to %lld",
                                name, text, static_cast<long long>(least),
                                static_cast<long long>(most)));
  return Status();
}

static bool isTold(const Environment &environment, const Launcher &launcher) {
  return environment(launcher.rank) && environment(launcher.size);
}

static Status readPlace(const Environment &environment,
                        const Launcher &launcher, LauncherEnvironment &place) {
  place.launcher = launcher.name;
  HONERT_TRY(readNumber(environment, launcher.size, 1, INT32_MAX, place.size));
  HONERT_TRY(
      readNumber(environment, launcher.rank, 0, place.size - 1, place.rank));
  if (environment(launcher.localRank))
    HONERT_TRY(readNumber(environment, launcher.localRank, 0, place.size - 1,
                          place.localRank));
  if (environment(launcher.localSize))
    HONERT_TRY(readNumber(environment, launcher.localSize, 1, place.size,
                          place.localSize));
  return Status();
}

Status honert::readLauncherEnvironment(const Environment &environment,
                                       LauncherEnvironment &place) {
  place = LauncherEnvironment();
  for (const Launcher &launcher : {mpirun, torchrun, pmi}) {
    if (!isTold(environment, launcher))
      continue;
    LauncherEnvironment told;
    HONERT_TRY(readPlace(environment, launcher, told));
    if (place.launcher.empty())
      place = told;
    else if (told.rank != place.rank || told.size != place.size)
      return Status::error(format(
          "%s says rank %lld of %lld, but %s (%s, %s) rank %lld of %lld; "
          "expected one launcher, or the same from both",
          place.launcher.c_str(), static_cast<long long>(place.rank),
          static_cast<long long>(place.size), launcher.name, launcher.rank,
          launcher.size, static_cast<long long>(told.rank),
          static_cast<long long>(told.size)));
  }
  if (place.launcher.empty() && isTold(environment, srun))
    HONERT_TRY(readPlace(environment, srun, place));
  if (const char *address = environment("MASTER_ADDR"))
    place.masterAddress = address;
  constexpr const char *step = "SLURM_STEP_ID";
  for (const char *name : {"TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", step}) {
    // Another launcher may be one step of srun per machine.
    bool isPart = name == step && place.launcher != srun.name;
    const char *value = isPart ? nullptr : environment(name);
    place.run += std::string(value ? value : "") + '\n';
  }
  if (const char *secret = environment("HONE_SECRET"))
    place.secret = secret;
  if (const char *file = environment("HONE_SECRET_FILE"))
    place.secretFile = file;
  if (environment("MASTER_PORT"))
    HONERT_TRY(
        readNumber(environment, "MASTER_PORT", 1, 65535, place.masterPort));
  return Status();
}

Status honert::readLauncherEnvironment(LauncherEnvironment &place) {
  return readLauncherEnvironment(
      [](const char *name) { return std::getenv(name); }, place);
}
