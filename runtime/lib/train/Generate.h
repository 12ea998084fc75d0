//===- Generate.h - Continues a text with the program's weights -*- C++ -*-===//

#ifndef HONERT_TRAIN_GENERATE_H
#define HONERT_TRAIN_GENERATE_H

#include "exec/Executor.h"
#include "io/text/Tokenizer.h"
#include "train/Sampling.h"
#include "train/options/Options.h"

#include <functional>

namespace honert {

/// Runs the function "generate" of a program, token by token, with the weights
/// that the arena holds.
class Generator {
public:
  Generator(const Program &program, Executor &executor, const Options &options);

  /// Reads the prompt of the options. Everything that can be wrong with it or
  /// with the program is found here.
  Status open();
  /// Draws `--tokens-out` tokens after the prompt, fewer where the program has
  /// no more positions or the text ends, and hands on the text of each: its
  /// bytes, or without a tokenizer its number.
  Status run(const std::function<void(const std::string &)> &emit);

  /// The prompt as text.
  const std::string &prompt() const { return promptText; }
  /// Tokens, of prompt and answer, that the latest run() has computed.
  int64_t computed() const { return ran; }

private:
  Status openTokenizer(int64_t known);
  Status compute(int64_t token, int64_t position);
  std::string textOf(int64_t id, bool isFirst) const;

  const Program &program;
  Executor &executor;
  const Options &options;
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<int64_t> ids; // of the prompt
  std::string promptText;
  const Function *function = nullptr;
  const Result *logits = nullptr;
  std::optional<Sampler> sampler;
  std::vector<float> row; // of logits
  int64_t ran = 0;
};

/// A process with --generate or --prompt-ids and without --sample-every: prints
/// prompt and continuation, and on standard error how fast that was.
Status generateText(const Program &program, const Options &options,
                    const ThreadPool &pool, ProcessGroup &world);

} // namespace honert

#endif // HONERT_TRAIN_GENERATE_H
