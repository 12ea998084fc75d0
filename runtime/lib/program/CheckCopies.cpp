//===- CheckCopies.cpp - The second arena of a program --------------------===//

#include "program/CheckCopies.h"

#include <set>

using namespace honert;

static Status broken(const std::string &what) {
  return Status::error("program: " + what);
}

static bool contains(int64_t arena, int64_t offset, int64_t bytes) {
  return offset >= 0 && bytes >= 0 && bytes <= arena && offset <= arena - bytes;
}

Status honert::checkOnHost(const Program &program, const Argument &argument) {
  if (contains(program.hostBytes, argument.offset - program.hostBase(),
               argument.bytes) &&
      argument.offset % 64 == 0 && argument.instances == 1)
    return Status();
  return broken(format("argument '%s' is outside the second arena, not at a "
                       "multiple of 64, or a window",
                       argument.fqn.c_str()));
}

Status honert::checkCopies(const Program &program, const Function &function) {
  std::set<int64_t> underWay, done;
  auto wrong = [&](const char *what, int64_t token) {
    return broken(format("function %s %s token %lld", function.name.c_str(),
                         what, static_cast<long long>(token)));
  };
  for (const Launch &launch : function.launches) {
    if (auto *copy = std::get_if<CopyLaunch>(&launch.action)) {
      if (!contains(program.arenaBytes, copy->offset, copy->bytes) ||
          !contains(program.hostBytes, copy->hostOffset, copy->bytes))
        return broken(format("a copy of %lld bytes of %s reaches outside an "
                             "arena",
                             static_cast<long long>(copy->bytes),
                             function.name.c_str()));
      if (copy->token < 0 || done.count(copy->token))
        return wrong("begins a copy with a negative or old", copy->token);
      underWay.insert(copy->token);
    }
    if (auto *wait = std::get_if<CopyWaitLaunch>(&launch.action)) {
      if (!underWay.erase(wait->token))
        return wrong("waits for copies, but none is under way, of",
                     wait->token);
      done.insert(wait->token);
    }
  }
  return underWay.empty()
             ? Status()
             : wrong("does not wait for copies of", *underWay.begin());
}
