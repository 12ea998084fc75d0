//===- CheckRanks.cpp - What ranks demand of a description ----------------===//

#include "program/CheckRanks.h"

#include "base/Collectives.h"

#include <set>

using namespace honert;

static Status broken(const std::string &what) {
  return Status::error("program: " + what);
}

static bool isInside(const Program &program, int64_t offset, int64_t bytes) {
  return offset >= 0 && bytes >= 0 && bytes <= program.arenaBytes &&
         offset <= program.arenaBytes - bytes;
}

static bool overlap(int64_t a, int64_t aBytes, int64_t b, int64_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// How much of a dimension of `size` a rank has; -1 where its segments are not
/// even.
static int64_t dividedSize(const DimDivision &division, int64_t size,
                           int64_t parts) {
  int64_t begin = 0;
  Shape ends = division.cuts;
  ends.push_back(size);
  for (int64_t end : ends) {
    if (end < begin || (end - begin) % parts != 0)
      return -1;
    begin = end;
  }
  return size / parts;
}

Status honert::checkDivision(const Argument &argument, const Mesh &mesh) {
  const char *fqn = argument.fqn.c_str();
  if (argument.whole.size() != argument.dims.size())
    return broken(format("argument '%s' of shape %s is a part of shape %s", fqn,
                         toString(argument.dims).c_str(),
                         toString(argument.whole).c_str()));
  if (!byteCount(argument.dtype, argument.whole))
    return broken(format("argument '%s' is a part of shape %s, of no valid "
                         "size",
                         fqn, toString(argument.whole).c_str()));
  std::set<int64_t> used;
  size_t dividing = 0;
  for (size_t dim = 0; dim != argument.dims.size(); ++dim) {
    const DimDivision &division = argument.divisions[dim];
    used.insert(division.axes.begin(), division.axes.end());
    dividing += division.axes.size();
    for (size_t i = 0; i != division.cuts.size(); ++i)
      if (division.cuts[i] <= (i ? division.cuts[i - 1] : 0) ||
          division.cuts[i] >= argument.whole[dim])
        return broken(format("argument '%s' is cut at %lld in dimension %zu of "
                             "size %lld, expected ascending cuts inside it",
                             fqn, static_cast<long long>(division.cuts[i]), dim,
                             static_cast<long long>(argument.whole[dim])));
    int64_t parts = mesh.groupSize(division.axes);
    int64_t expected = dividedSize(division, argument.whole[dim], parts);
    if (expected != argument.dims[dim])
      return broken(format(
          "argument '%s' has %lld of %lld in dimension %zu, divided by %lld",
          fqn, static_cast<long long>(argument.dims[dim]),
          static_cast<long long>(argument.whole[dim]), dim,
          static_cast<long long>(parts)));
  }
  if (used.size() != dividing)
    return broken(format("argument '%s' is divided twice along an axis", fqn));
  if (!argument.partial.empty() && argument.kind != Kind::grad)
    return broken(format("argument '%s' of kind %s is a term, expected a grad",
                         fqn, name(argument.kind)));
  for (int64_t axis : argument.partial)
    if (!used.insert(axis).second)
      return broken(format("argument '%s' is a term along '%s', which divides "
                           "it or is there twice",
                           fqn, mesh.axes[axis].name.c_str()));
  return Status();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Whether collectives combine elements of the type at all.
static bool isCombined(DType dtype) {
  return (isFloat(dtype) && !isFp8(dtype)) || dtype == DType::i64 ||
         dtype == DType::i32;
}

/// The type is one the collective takes, and the counts come out even.
static Status checkKind(const char *name, const CollectiveLaunch &launch,
                        int64_t ranks) {
  CollectiveFacts facts = factsOf(launch.kind);
  if (facts.combines && !isCombined(launch.dtype))
    return broken(format("collective %s combines %s, expected f32, f64, bf16, "
                         "f16, i64 or i32",
                         name, honert::name(launch.dtype)));
  if (!facts.combines && launch.reduce != ReduceKind::sum)
    return broken(
        format("collective %s has a reduction it does not make", name));
  if (launch.count < 0 || (facts.splitsInput && launch.count % ranks != 0))
    return broken(format("collective %s of %lld elements among %lld ranks",
                         name, static_cast<long long>(launch.count),
                         static_cast<long long>(ranks)));
  bool isShift = launch.kind == CollectiveKind::shift;
  if (launch.amount < 0 || launch.amount >= (isShift ? ranks : 1))
    return broken(format("collective %s has amount %lld among %lld ranks", name,
                         static_cast<long long>(launch.amount),
                         static_cast<long long>(ranks)));
  return Status();
}

/// Its bytes lie in the arena, apart.
static Status checkCollective(const Program &program, const char *name,
                              const CollectiveLaunch &launch) {
  int64_t ranks = program.mesh.groupSize(launch.axes);
  int64_t width = byteWidth(launch.dtype), most;
  HONERT_TRY(checkKind(name, launch, ranks));
  bool fits = !__builtin_mul_overflow(launch.count, ranks * width, &most) &&
              isInside(program, launch.in, launch.inBytes()) &&
              isInside(program, launch.out, launch.outBytes(ranks)) &&
              launch.in % width == 0 && launch.out % width == 0;
  if (!fits)
    return broken(format("collective %s has a buffer outside the arena or not "
                         "at a multiple of its elements",
                         name));
  bool isInPlace =
      launch.kind == CollectiveKind::allReduce && launch.in == launch.out;
  if (!isInPlace &&
      overlap(launch.in, launch.inBytes(), launch.out, launch.outBytes(ranks)))
    return broken(format("collective %s writes over what it reads", name));
  return Status();
}

static Status checkShard(const Program &program, const char *name,
                         const ShardLaunch &launch) {
  int64_t parts = program.mesh.groupSize(launch.axes), part, whole;
  bool fits = launch.rows >= 0 && launch.bytes >= 0 &&
              !__builtin_mul_overflow(launch.rows, launch.bytes, &part) &&
              !__builtin_mul_overflow(part, parts, &whole) &&
              isInside(program, launch.in, whole) &&
              isInside(program, launch.out, part);
  if (!fits)
    return broken(format("shard %s reaches outside the arena", name));
  if (overlap(launch.in, whole, launch.out, part))
    return broken(format("shard %s writes over what it reads", name));
  return Status();
}

/// Every token is begun once and then waited for once.
static Status checkToken(const Launch &launch, std::set<int64_t> &begun,
                         std::set<int64_t> &waited) {
  if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action))
    if (collective->isAsynchronous() && !begun.insert(collective->token).second)
      return broken(format("collective %s begins token %lld again",
                           launch.name.c_str(),
                           static_cast<long long>(collective->token)));
  auto *wait = std::get_if<WaitLaunch>(&launch.action);
  if (wait && (!begun.count(wait->token) || !waited.insert(wait->token).second))
    return broken(format("a wait for token %lld, which is not under way",
                         static_cast<long long>(wait->token)));
  return Status();
}

Status honert::checkRanks(const Program &program, const Function &function) {
  std::set<int64_t> begun, waited;
  for (const Launch &launch : function.launches) {
    const char *name = launch.name.c_str();
    if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action))
      HONERT_TRY(checkCollective(program, name, *collective));
    if (auto *shard = std::get_if<ShardLaunch>(&launch.action))
      HONERT_TRY(checkShard(program, name, *shard));
    auto *coordinate = std::get_if<CoordinateLaunch>(&launch.action);
    if (coordinate &&
        (coordinate->out % 8 != 0 || !isInside(program, coordinate->out, 8)))
      return broken(format("a coordinate at %lld, outside the arena or not a "
                           "multiple of 8",
                           static_cast<long long>(coordinate->out)));
    HONERT_TRY(checkToken(launch, begun, waited));
  }
  for (int64_t token : begun)
    if (!waited.count(token))
      return broken(format("function %s does not wait for token %lld",
                           function.name.c_str(),
                           static_cast<long long>(token)));
  return Status();
}
