//===- Report.cpp - What a run tells its user -----------------------------===//

#include "train/Report.h"

#include "base/Files.h"
#include "base/Printable.h"
#include "train/Process.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <unistd.h>

using namespace honert;

Report::Report(const Program &program, const Options &options,
               const ProcessGroup &world)
    : options(options), isSilent(!world.isFirst()), ranks(world.size()),
      flopsPerStep(program.number("flops_per_step", 0)),
      modelFlopsPerToken(program.number("model_flops_per_token", 0)),
      lossDigits(9), isTerminal(isatty(STDOUT_FILENO) == 1) {
  const Function *step = program.function("step");
  const Argument *sum = program.argument(Kind::scalar, "loss");
  if ((step && step->result("loss")->dtype == DType::f64) ||
      (!step && sum && sum->dtype == DType::f64))
    lossDigits = 17;
}

Report::~Report() {
  clearBar();
  if (log)
    std::fclose(log);
}

//===----------------------------------------------------------------------===//
// Log
//===----------------------------------------------------------------------===//

/// The step a line of the log belongs to; -1 if it is none of ours.
static long long stepOfLine(std::string_view line) {
  long long step;
  std::string text(line);
  return std::sscanf(text.c_str(), "{\"step\":%lld,", &step) == 1 ? step : -1;
}

/// Cuts off the lines of steps that will be done again, and half a line.
Status Report::trimLog(int64_t doneSteps) {
  MappedFile old;
  HONERT_TRY(old.open(options.log));
  std::string_view text = old.view();
  size_t keep = 0;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    if (end == text.npos)
      break;
    long long step = stepOfLine(text.substr(begin, end - begin));
    if (step < 0 || step > doneSteps)
      break;
    keep = end + 1;
  }
  if (truncate(options.log.c_str(), static_cast<off_t>(keep)) != 0)
    return Status::error(options.log +
                         ": cannot be shortened: " + std::strerror(errno));
  return Status();
}

Status Report::open(bool resume, int64_t doneSteps) {
  if (options.log.empty() || isSilent)
    return Status();
  if (resume && isRegularFile(options.log))
    HONERT_TRY(trimLog(doneSteps));
  log = std::fopen(options.log.c_str(), resume ? "ae" : "we");
  if (!log)
    return Status::error(options.log +
                         ": cannot be written: " + std::strerror(errno));
  return Status();
}

void Report::writeLog(const std::string &json) {
  if (!log || logFailed)
    return;
  std::fprintf(log, "{%s}\n", json.c_str());
  if (std::fflush(log) == 0 && !std::ferror(log))
    return;
  logFailed = true;
  clearBar();
  std::fprintf(stderr,
               "warning: %s: cannot be written: %s; the run goes on without a "
               "log\n",
               options.log.c_str(), std::strerror(errno));
}

//===----------------------------------------------------------------------===//
// Speed
//===----------------------------------------------------------------------===//

void Report::setPeak(double flops, const char *origin) {
  peakFlops = flops;
  peakOrigin = origin;
}

double Report::tokensPerSecond(double time) const {
  return time > 0 ? static_cast<double>(tokensPerStep) / time : 0;
}

std::string Report::mfuFormula() const {
  if (peakFlops <= 0 || (modelFlopsPerToken <= 0 && flopsPerStep <= 0))
    return "";
  std::string work =
      modelFlopsPerToken > 0
          ? format("%.4g model FLOP/token * tok/s", modelFlopsPerToken)
          : format("%.4g FLOP/step / step time", flopsPerStep);
  std::string each =
      ranks > 1 ? format("%lld ranks of ", static_cast<long long>(ranks)) : "";
  return format("MFU = %s / peak; peak %s%.1f GFLOP/s (%s)", work.c_str(),
                each.c_str(), peakFlops * 1e-9, peakOrigin);
}

double Report::medianSeconds() const {
  size_t count = std::min(stepsSeen, seconds.size());
  if (count == 0)
    return 0;
  auto sorted = seconds;
  auto *middle = sorted.begin() + count / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + count);
  return *middle;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// The figures of a step; what is unknown is negative.
struct Speed {
  double tokens, tflops, mfu;
};
} // namespace

static Speed speedOf(double tokensPerSecond, double flopsPerStep,
                     double flopsPerToken, double peak, double seconds) {
  Speed speed{tokensPerSecond > 0 ? tokensPerSecond : -1, -1, -1};
  double stepFlops = flopsPerStep / seconds;
  if (flopsPerStep > 0)
    speed.tflops = stepFlops * 1e-12;
  double work = flopsPerToken > 0 ? flopsPerToken * tokensPerSecond : stepFlops;
  if (work > 0 && peak > 0)
    speed.mfu = work / peak;
  return speed;
}

std::string Report::stepLine(const StepFacts &facts) const {
  std::string text =
      format("step %lld/%lld | loss %.4f", static_cast<long long>(facts.step),
             static_cast<long long>(options.steps), facts.loss);
  if (facts.gradNorm)
    text += format(" | norm %.3f", std::isnan(*facts.gradNorm)
                                       ? std::fabs(*facts.gradNorm)
                                       : *facts.gradNorm);
  if (facts.learningRate)
    text += format(" | lr %.2e", *facts.learningRate);
  if (facts.lossScale)
    text += format(" | scale %g", *facts.lossScale);
  if (facts.skipped)
    text += " | skipped";
  text += format(" | %.1f ms", facts.seconds * 1e3);
  Speed speed =
      speedOf(tokensPerSecond(facts.seconds), flopsPerStep, modelFlopsPerToken,
              peakFlops * double(ranks), facts.seconds);
  if (speed.tokens >= 0)
    text += format(" | %.0f tok/s", speed.tokens);
  if (speed.tflops >= 0)
    text += format(speed.tflops < 0.1 ? " | %.2g TFLOP/s" : " | %.2f TFLOP/s",
                   speed.tflops);
  if (speed.mfu >= 0)
    text += format(" | MFU %.1f%%", speed.mfu * 100);
  return text;
}

/// JSON has no name for what is not finite.
static std::string jsonNumber(double value, int digits) {
  return std::isfinite(value) ? format("%.*g", digits, value) : "null";
}

void Report::step(const StepFacts &facts) {
  seconds[stepsSeen++ % seconds.size()] = facts.seconds;
  if (!options.quiet && !isSilent) {
    std::string text = stepLine(facts);
    if (isTerminal)
      drawBar(text, facts.step);
    else
      line(text);
  }
  std::string json =
      format("\"step\":%lld,\"loss\":%s", static_cast<long long>(facts.step),
             jsonNumber(facts.loss, lossDigits).c_str());
  if (facts.gradNorm)
    json += ",\"grad_norm\":" + jsonNumber(*facts.gradNorm, lossDigits);
  if (facts.learningRate)
    json += format(",\"lr\":%.17g", *facts.learningRate);
  if (facts.lossScale)
    json += format(",\"loss_scale\":%.17g,\"skipped\":%s", *facts.lossScale,
                   facts.skipped ? "true" : "false");
  json += format(",\"ms\":%.6g", facts.seconds * 1e3);
  Speed speed =
      speedOf(tokensPerSecond(facts.seconds), flopsPerStep, modelFlopsPerToken,
              peakFlops * double(ranks), facts.seconds);
  if (speed.tokens >= 0)
    json += format(",\"tokens_per_s\":%.6g", speed.tokens);
  if (speed.tflops >= 0)
    json += format(",\"tflops\":%.6g", speed.tflops);
  if (speed.mfu >= 0)
    json += format(",\"mfu\":%.6g", speed.mfu);
  writeLog(json);
}

void Report::validation(int64_t step, double loss) {
  line(format("step %lld/%lld | val %.4f", static_cast<long long>(step),
              static_cast<long long>(options.steps), loss));
  writeLog(format("\"step\":%lld,\"val_loss\":%.17g",
                  static_cast<long long>(step), loss));
}

//===----------------------------------------------------------------------===//
// Terminal
//===----------------------------------------------------------------------===//

void Report::drawBar(const std::string &text, int64_t step) {
  constexpr int width = 24;
  double done = static_cast<double>(step) /
                static_cast<double>(std::max<int64_t>(1, options.steps));
  int filled = static_cast<int>(done * width);
  auto left = static_cast<long>(
      medianSeconds() * static_cast<double>(options.steps - step) + 0.5);
  std::string bar(static_cast<size_t>(filled), '#');
  bar.resize(width, '.');
  print(format("\r\033[K[%s] %s | %ld:%02ld:%02ld left", bar.c_str(),
               text.c_str(), left / 3600, left / 60 % 60, left % 60));
  barShown = true;
  barText = text;
  barStep = step;
}

void Report::clearBar() {
  if (barShown)
    print("\r\033[K");
  barShown = false;
}

void Report::line(const std::string &text) {
  if (options.quiet || isSilent)
    return;
  bool redraw = barShown;
  clearBar();
  print(printable(text) + "\n"); // it may hold names from files
  if (redraw)
    drawBar(barText, barStep);
}

void Report::progress(const std::string &text, double fraction) {
  if (options.quiet || isSilent || !isTerminal)
    return;
  clearBar();
  if (fraction >= 1)
    return;
  print(format("%s: %.0f %%", text.c_str(), fraction * 100));
  barShown = true;
}

void Report::summary(const std::string &text) {
  if (isSilent)
    return;
  if (barShown) // the last step stays readable
    print("\r\033[K" + barText + "\n");
  barShown = false;
  print(text + "\n");
}
