//===- Generate.cpp - Continues a text with the program's weights ---------===//

#include "train/Generate.h"
#include "base/Signals.h"
#include "io/text/BytePairs.h"
#include "train/FillState.h"
#include "train/MakeExecutor.h"
#include "train/Process.h"

#include <chrono>
#include <cstdio>

using namespace honert;

using Clock = std::chrono::steady_clock;

Generator::Generator(const Program &program, Executor &executor,
                     const Options &options)
    : program(program), executor(executor), options(options),
      function(program.function("generate")),
      logits(function->result("logits")) {}

Status Generator::openTokenizer(int64_t known) {
  if (!options.tokenizer.empty()) {
    auto pairs = std::make_unique<BytePairTokenizer>();
    HONERT_TRY(pairs->open(options.tokenizer));
    tokenizer = std::move(pairs);
    return Status();
  }
  if (known != 256)
    return Status::error(format(
        "--generate: the program has %lld tokens, expected 256 (bytes), or "
        "--tokenizer tokenizer.json; --prompt-ids takes tokens as numbers",
        static_cast<long long>(known)));
  tokenizer = std::make_unique<ByteTokenizer>();
  return Status();
}

Status Generator::open() {
  const Argument &tokens = *program.input(Role::tokens);
  int64_t known = logits->dims[0], positions = tokens.whole.back();
  if (!options.promptIds.empty()) {
    ids = options.promptIds;
  } else {
    HONERT_TRY(openTokenizer(known));
    HONERT_TRY(tokenizer->encode(options.generate, ids));
  }
  const char *flag = options.promptIds.empty() ? "--generate" : "--prompt-ids";
  for (int64_t id : ids)
    if (id >= known || (tokens.vocab > 0 && id >= tokens.vocab))
      return Status::error(format(
          "%s: token %lld, expected ids from 0 to %lld", flag,
          static_cast<long long>(id),
          static_cast<long long>(
              (tokens.vocab > 0 ? std::min(known, tokens.vocab) : known) - 1)));
  auto length = static_cast<int64_t>(ids.size());
  if (length > positions)
    return Status::error(format(
        "%s: %lld tokens, expected at most the program's %lld positions", flag,
        static_cast<long long>(length), static_cast<long long>(positions)));
  for (size_t i = 0; i != ids.size(); ++i)
    promptText += textOf(ids[i], i == 0);
  sampler.emplace(
      SamplingOptions{options.temperature, options.topK, options.topP},
      options.seed, known);
  row.resize(static_cast<size_t>(known));
  return Status();
}

std::string Generator::textOf(int64_t id, bool isFirst) const {
  if (tokenizer)
    return tokenizer->bytesOf(id);
  return (isFirst ? "" : ",") + std::to_string(id);
}

/// The logits behind `position`, where `token` stands.
Status Generator::compute(int64_t token, int64_t position) {
  const std::pair<const char *, int64_t> scalars[] = {{"token", token},
                                                      {"position", position}};
  for (auto [name, value] : scalars)
    if (const Argument *scalar = program.argument(Kind::scalar, name))
      storeElement(scalar->dtype, executor.arena().at(scalar->offset),
                   static_cast<double>(value));
  HONERT_TRY(executor.run(*function));
  HONERT_TRY(executor.wait());
  ++ran;
  return Status();
}

Status Generator::run(const std::function<void(const std::string &)> &emit) {
  ran = 0;
  for (const Argument &argument : program.arguments)
    if (argument.kind == Kind::cache)
      HONERT_TRY(executor.zero(argument.offset, argument.bytes));
  auto length = static_cast<int64_t>(ids.size());
  int64_t positions = program.input(Role::tokens)->whole.back();
  int64_t left = options.tokensOut;
  int64_t bytes = logits->dims[0] * byteWidth(logits->dtype), token = -1;
  for (int64_t at = 0; at != positions && left > 0 && !stopSignal(); ++at) {
    HONERT_TRY(compute(at < length ? ids[static_cast<size_t>(at)] : token, at));
    if (at + 1 < length)
      continue;
    HONERT_TRY(executor.fetch(logits->offset, bytes));
    const char *found = executor.arena().at(logits->offset);
    for (float &each : row) {
      each = static_cast<float>(loadElement(logits->dtype, found));
      found += byteWidth(logits->dtype);
    }
    token = sampler->draw(row.data(), at);
    executor.forget(logits->offset, bytes);
    if (token < 0)
      return Status::error(format("position %lld: the logits are not finite",
                                  static_cast<long long>(at)));
    --left;
    if (tokenizer && token == tokenizer->end())
      return Status();
    emit(textOf(token, /*isFirst=*/false));
  }
  return Status();
}

Status honert::generateText(const Program &program, const Options &options,
                            const ThreadPool &pool, ProcessGroup &world) {
  std::unique_ptr<Executor> executor =
      makeExecutor(program, pool, options.deterministic, &world);
  Generator generator(program, *executor, options);
  HONERT_TRY(generator.open());
  executor->setOffloadFolder(options.offloadFolder);
  HONERT_TRY(executor->start());
  std::string origin;
  HONERT_TRY(fillState({options.init, options.fresh}, program, world,
                       options.seed, pool, *executor, origin,
                       /*trains=*/false));
  catchStopSignals();
  print(generator.prompt());
  Clock::time_point begin = Clock::now();
  Status status = generator.run(print);
  print("\n");
  double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (status.ok() && !options.quiet)
    std::fprintf(stderr, "weights: %s | %lld tokens in %.2f s, %.1f tok/s\n",
                 origin.c_str(), static_cast<long long>(generator.computed()),
                 seconds, static_cast<double>(generator.computed()) / seconds);
  HONERT_TRY(status);
  return stopSignal() ? Status::stopped(stopSignal()) : Status();
}
