//===- Info.cpp - Facts about a program and its last step -----------------===//

#include "train/Info.h"
#include "train/ResidentMemory.h"
#include "train/WorkingCopies.h"

#include <algorithm>

using namespace honert;

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

static std::string initText(const Argument &argument) {
  if (argument.data)
    return "in the executable";
  switch (argument.init) {
  case InitKind::none:
    return "";
  case InitKind::constant:
    return format("constant %g", argument.a);
  case InitKind::normal:
    return format("normal mean %g std %g", argument.a, argument.b);
  case InitKind::uniform:
    return format("uniform %g to %g", argument.a, argument.b);
  case InitKind::file:
    return "from a file";
  }
  return "";
}

static std::string feedText(const Argument &argument) {
  static const char *const roles[] = {"--input", "tokens", "targets"};
  std::string text = roles[static_cast<int64_t>(argument.role)];
  if (argument.vocab > 0)
    text += format(", ids < %lld", static_cast<long long>(argument.vocab));
  if (argument.ignored)
    text += format(" or %lld (ignored or replaced)",
                   static_cast<long long>(*argument.ignored));
  return text;
}

/// "of [768, 64], dimension 0 along dp,tp with cuts [256, 512]": what of its
/// tensor a rank has; empty where that is all.
static std::string divisionText(const Program &program,
                                const Argument &argument) {
  std::string text;
  for (size_t dim = 0; dim != argument.divisions.size(); ++dim) {
    const DimDivision &division = argument.divisions[dim];
    if (division.axes.empty())
      continue;
    text += format("%s %zu along %s", text.empty() ? "dimension" : " and", dim,
                   program.mesh.text(division.axes).c_str());
    if (!division.cuts.empty())
      text += " with cuts " + toString(division.cuts) +
              (division.isSnake ? " in turns" : "");
  }
  if (!text.empty())
    text = "of " + toString(argument.whole) + ", " + text;
  if (!argument.partial.empty())
    text += std::string(text.empty() ? "" : ", ") + "a term along " +
            program.mesh.text(argument.partial);
  return text;
}

static std::string argumentTable(const Program &program) {
  size_t longest = 4;
  for (const Argument &argument : program.arguments)
    longest = std::max(longest, argument.fqn.size());
  auto width = static_cast<int>(std::min<size_t>(longest, 60));
  std::string text = format("%-7s %-*s %-5s %-18s %12s  %s\n", "kind", width,
                            "name", "type", "shape", "offset", "value");
  for (const Argument &argument : program.arguments) {
    std::string value = argument.kind == Kind::input ? feedText(argument)
                        : argument.kind != Kind::workingCopy
                            ? initText(argument)
                        : isRounded(program, argument)
                            ? "the parameter, rounded"
                            : "codes of a parameter, or their scales";
    for (const std::string &alias : argument.aliases)
      value += (value.empty() ? "also " : ", also ") + alias;
    std::string row =
        format("%-7s %-*s %-5s %-18s %12lld  %s", name(argument.kind), width,
               argument.fqn.c_str(), name(argument.dtype),
               toString(argument.dims).c_str(),
               static_cast<long long>(argument.offset), value.c_str());
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
    if (std::string part = divisionText(program, argument); !part.empty())
      text += "        " + part + "\n";
    if (argument.isWhole)
      continue;
    for (const Part &part : argument.parts)
      text +=
          format("        holds %s %s at %s\n", part.name.c_str(),
                 toString(part.shape).c_str(), toString(part.offset).c_str());
  }
  return text;
}

/// Where a run without --init takes its weights from.
static std::string weightsLine(const Program &program) {
  std::string path = program.text("weights");
  return "weights: " +
         (path.empty() ? "fresh, by --seed, as said under 'value'"
                       : path + "; with --fresh as said under 'value'") +
         "\n\n";
}

/// One axis in a line, the slowest first.
static std::string meshTable(const Program &program) {
  if (program.mesh.ranks() == 1)
    return "";
  std::string text = format("mesh of %lld ranks\n",
                            static_cast<long long>(program.mesh.ranks()));
  for (const MeshAxis &axis : program.mesh.axes)
    text += format("  %-24s %lld%s%s\n", axis.name.c_str(),
                   static_cast<long long>(axis.size),
                   axis.link.empty() ? "" : " over ", axis.link.c_str());
  return text + "\n";
}

static std::string sizeLine(const std::string &name, int64_t bytes) {
  return format("  %-24s %15lld bytes  %s\n", name.c_str(),
                static_cast<long long>(bytes), formatBytes(bytes).c_str());
}

static std::string liveTable(const std::vector<LiveTensors> &live) {
  std::string text = format("  %-12s %6s   %-5s %-18s %15s  %s\n", "category",
                            "count", "type", "shape", "bytes", "made by");
  for (const LiveTensors &row : live)
    text += format("  %-12s %6lld x %-5s %-18s %15lld  %s%s%s\n",
                   row.category.c_str(), static_cast<long long>(row.count),
                   name(row.dtype), toString(row.dims).c_str(),
                   static_cast<long long>(row.bytes), row.name.c_str(),
                   row.location.empty() ? "" : " at ", row.location.c_str());
  return text;
}

static std::string functionTable(const Program &program) {
  std::string text;
  for (const Function &function : program.functions)
    text += format("  %-24s %zu launches\n", function.name.c_str(),
                   function.launches.size());
  return text;
}

static std::string factLine(const char *name, const std::string &value) {
  return format("  %-24s %s\n", name, value.c_str());
}

/// Device code, and the GPU that it would run on here.
static std::string deviceTable(const Program &program, const Executor &executor,
                               const std::string &error) {
  std::string text;
  for (const DeviceCode &code : program.deviceCode)
    text += factLine("device code",
                     format("%s for sm_%lld%s, %s",
                            code.kind == CodeKind::ptx ? "PTX" : "machine code",
                            static_cast<long long>(code.arch),
                            code.kind == CodeKind::ptx ? " or later" : "",
                            formatBytes(code.bytes).c_str()));
  return text + factLine("GPU", error.empty() ? executor.machineText()
                                              : "unknown: " + error);
}

std::string honert::infoText(const Program &program, const Executor &executor,
                             const std::string &error) {
  bool hasRanks = program.mesh.ranks() > 1;
  std::string text = argumentTable(program) + "\n" + weightsLine(program) +
                     meshTable(program) +
                     (hasRanks ? "memory plan of a rank\n" : "memory plan\n");
  for (const auto &[name, bytes] : program.categories)
    text += sizeLine(name, bytes);
  text += sizeLine("arena (peak)", program.arenaBytes);
  if (program.hostBytes > 0)
    text += sizeLine(program.isForCuda() ? "second arena (pinned)"
                                         : "second arena (a file)",
                     program.hostBytes);
  if (std::optional<int64_t> bytes = executor.workspaceBytes())
    text += sizeLine("library workspace", *bytes);
  else
    text += factLine("library workspace", "unknown: " + error);
  if (!program.isForCuda())
    text += sizeLine("other, at most", otherBytes);
  text += sizeLine("resident while idle", peakResidentBytes());
  if (!program.live.empty())
    text += "\nlargest tensors at the peak\n" + liveTable(program.live);
  text += "\nfunctions\n" + functionTable(program) + "\nbuild\n";
  for (const auto &[key, value] : program.meta)
    text += factLine(key.c_str(), value);
  for (const auto &[key, value] : program.numbers)
    text += format("  %-24s %.10g\n", key.c_str(), value);
  if (program.isForCuda())
    text += deviceTable(program, executor, error);
  if (error.empty() && !executor.libraryVersion().empty())
    text += factLine("matrix products", executor.libraryVersion());
  return text;
}

std::string honert::versionText(const Program &program) {
  std::string text = format("honert 0.1 (ABI %d)\n", HONERT_ABI);
  for (const char *key : {"model", "compiler", "target", "fingerprint"})
    if (std::string value = program.text(key); !value.empty())
      text += format("%s: %s\n", key, value.c_str());
  return text;
}
