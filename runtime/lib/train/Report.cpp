//===- Report.cpp - What a run tells its user -----------------------------===//

#include "train/Report.h"

#include "base/Files.h"
#include "base/Json.h"
#include "base/Printable.h"
#include "train/Process.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <unistd.h>

using namespace honert;

/// Without --log-every and a terminal, a run prints a thousand lines at most:
/// of every step, every tenth, every hundredth, and so on.
static int64_t printInterval(const Options &options) {
  if (options.logEvery > 0)
    return options.logEvery;
  int64_t every = 1;
  while (options.steps / every > 1000)
    every *= 10;
  return every;
}

Report::Report(const Program &program, const Options &options,
               const ProcessGroup &world)
    : program(program), options(options), isSilent(!world.isFirst()),
      ranks(world.size()), flopsPerStep(program.number("flops_per_step", 0)),
      modelFlopsPerToken(program.number("model_flops_per_token", 0)),
      lossIsDouble(false), printEvery(printInterval(options)) {
  const Function *step = program.function("step");
  const Argument *sum = program.argument(Kind::scalar, "loss");
  lossIsDouble = (step && step->result("loss")->dtype == DType::f64) ||
                 (!step && sum && sum->dtype == DType::f64);
}

Report::~Report() { status.keep(); }

//===----------------------------------------------------------------------===//
// Log
//===----------------------------------------------------------------------===//

static std::string hostName() {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  return name;
}

/// Of the clock, as 2026-11-26T06:32:29Z.
static std::string timeText() {
  std::time_t now = std::time(nullptr);
  std::tm parts = {};
  char text[32] = "";
  if (gmtime_r(&now, &parts))
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// The name of the log without its suffix.
static std::string runName(const std::string &log) {
  std::string name = baseName(log);
  size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? name : name.substr(0, dot);
}

Status Report::open(int64_t doneSteps, const Options &actual,
                    const std::string &data) {
  if (isSilent)
    return Status();
  if (!options.log.empty())
    HONERT_TRY(openLog(doneSteps, actual, data));
  if (!options.tensorboard.empty())
    HONERT_TRY(events.open(options.tensorboard, doneSteps));
  return Status();
}

Status Report::openLog(int64_t doneSteps, const Options &actual,
                       const std::string &data) {
  HONERT_TRY(log.open(options.log, options.resume, doneSteps));
  started = std::chrono::steady_clock::now();
  std::string text =
      "\"run\":" + quoteJson(runName(options.log)) +
      ",\"config\":" + configText(actual) +
      ",\"model\":" + quoteJson(program.text("model", "program")) +
      ",\"params\":" + jsonNumber(program.number("parameters", 0)) +
      ",\"ranks\":" + std::to_string(ranks) +
      ",\"host\":" + quoteJson(hostName()) +
      ",\"started\":" + quoteJson(timeText());
  if (!data.empty())
    text += ",\"data\":" + data;
  if (doneSteps > 0)
    text += ",\"resumed\":" + std::to_string(doneSteps);
  return log.write(text);
}

/// A line about a step, with the seconds since the process began its lines.
void Report::writeLog(int64_t step, const std::string &members) {
  if (!log.isOpen())
    return;
  std::chrono::duration<double> time =
      std::chrono::steady_clock::now() - started;
  Status written = log.write(format("\"step\":%lld,%s,\"time\":%.3f",
                                    static_cast<long long>(step),
                                    members.c_str(), time.count()));
  if (written.ok())
    return;
  logFailed = true;
  warning(written.message() + "; the run goes on without a log");
}

void Report::writeScalars(int64_t step, const std::vector<Scalar> &scalars) {
  if (!events.isOpen())
    return;
  Status written = events.write(step, scalars);
  if (written.ok())
    return;
  logFailed = true;
  warning(written.message() + "; the run goes on without TensorBoard");
}

/// With as many digits as name its bits.
std::string Report::lossText(double loss) const {
  return lossIsDouble ? jsonNumber(loss) : jsonNumber(static_cast<float>(loss));
}

void Report::checkpoint(int64_t step, const std::string &path) {
  writeLog(step, "\"checkpoint\":" + quoteJson(path));
}

void Report::end(int64_t step, const std::string &reason) {
  std::string text = "\"end\":" + quoteJson(reason);
  if (double median = medianSeconds(); median > 0) {
    text += ",\"median_ms\":" + jsonNumber(median * 1e3);
    if (double rate = tokensPerSecond(median); rate > 0)
      text += ",\"median_tokens_per_s\":" + jsonNumber(rate);
  }
  writeLog(step, text);
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

double Report::medianSeconds(size_t most) const {
  size_t count = std::min({stepsSeen, seconds.size(), most});
  if (count == 0)
    return 0;
  std::array<double, 1024> sorted;
  for (size_t i = 0; i < count; ++i)
    sorted[i] = seconds[(stepsSeen - 1 - i) % seconds.size()];
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

/// 950, 1.23M: three digits, and K, M, B or T from a thousand on.
static std::string countText(double count) {
  if (count < 1000)
    return format("%.0f", count);
  const char *unit = "KMBT";
  for (count /= 1000; count >= 999.5 && unit[1]; ++unit)
    count /= 1000;
  int decimals = count < 9.995 ? 2 : count < 99.95 ? 1 : 0;
  return format("%.*f%c", decimals, count, *unit);
}

/// What the step computed.
std::string Report::valuesText(const StepFacts &facts) const {
  std::string text =
      format("step %lld/%lld", static_cast<long long>(facts.step),
             static_cast<long long>(options.steps));
  if (tokensPerEpoch > 0)
    text += format(" | epoch %.2f", double(facts.step) * double(tokensPerStep) /
                                        double(tokensPerEpoch));
  text += format(" | loss %.4f", facts.loss);
  if (facts.droppedSoFar && facts.droppedSoFar->dropped != 0)
    text += " | " + droppedText(*facts.droppedSoFar);
  if (facts.gradNorm)
    text += format(" | grad norm %.3f", std::isnan(*facts.gradNorm)
                                            ? std::fabs(*facts.gradNorm)
                                            : *facts.gradNorm);
  if (facts.learningRate)
    text += format(" | lr %.2e", *facts.learningRate);
  if (facts.lossScale)
    text += format(" | scale %g", *facts.lossScale);
  if (facts.skipped)
    text += " | skipped";
  return text;
}

/// How fast it was, the more important first.
std::string Report::speedText(const StepFacts &facts) const {
  std::string text = format("%.1f ms", facts.seconds * 1e3);
  Speed speed =
      speedOf(tokensPerSecond(facts.seconds), flopsPerStep, modelFlopsPerToken,
              peakFlops * double(ranks), facts.seconds);
  if (speed.tokens >= 0)
    text += format(" | %.0f tok/s", speed.tokens);
  if (speed.mfu >= 0)
    text += format(" | MFU %.1f%%", speed.mfu * 100);
  if (tokensPerStep > 0)
    text += " | " + countText(double(facts.step) * double(tokensPerStep)) +
            " tokens";
  if (speed.tflops >= 0)
    text += format(speed.tflops < 0.1 ? " | %.2g TFLOP/s" : " | %.2f TFLOP/s",
                   speed.tflops);
  return text;
}

/// The first step of this process and the last of the run are, in any case.
bool Report::isDue(int64_t step, int64_t every) const {
  return stepsSeen == 1 || step == options.steps || step % every == 0;
}

void Report::step(const StepFacts &facts) {
  seconds[stepsSeen++ % seconds.size()] = facts.seconds;
  showStep(facts);
  if (isDue(facts.step, std::max<int64_t>(1, options.logEvery)))
    logStep(facts);
}

void Report::logStep(const StepFacts &facts) {
  std::string text = "\"loss\":" + lossText(facts.loss);
  if (facts.gradNorm)
    text += ",\"grad_norm\":" + lossText(*facts.gradNorm);
  if (facts.learningRate)
    text += ",\"lr\":" + jsonNumber(*facts.learningRate);
  if (facts.lossScale)
    text += ",\"loss_scale\":" + jsonNumber(*facts.lossScale) +
            ",\"skipped\":" + (facts.skipped ? "true" : "false");
  if (facts.dropped)
    text += format(",\"dropped_rows\":%lld,\"dropped_rows_so_far\":%lld,"
                   "\"routed_rows_so_far\":%lld",
                   static_cast<long long>(facts.dropped->dropped),
                   static_cast<long long>(facts.droppedSoFar->dropped),
                   static_cast<long long>(facts.droppedSoFar->rows));
  if (tokensPerStep > 0)
    text += ",\"tokens\":" + std::to_string(facts.step * tokensPerStep);
  text += format(",\"ms\":%.6g", facts.seconds * 1e3);
  Speed speed =
      speedOf(tokensPerSecond(facts.seconds), flopsPerStep, modelFlopsPerToken,
              peakFlops * double(ranks), facts.seconds);
  if (speed.tokens >= 0)
    text += format(",\"tokens_per_s\":%.6g", speed.tokens);
  if (speed.tflops >= 0)
    text += format(",\"tflops\":%.6g", speed.tflops);
  if (speed.mfu >= 0)
    text += format(",\"mfu\":%.6g", speed.mfu);
  writeLog(facts.step, text);
  std::vector<Scalar> scalars = {{"loss", facts.loss}};
  if (facts.learningRate)
    scalars.push_back({"lr", *facts.learningRate});
  if (facts.gradNorm)
    scalars.push_back({"grad_norm", *facts.gradNorm});
  if (speed.tokens >= 0)
    scalars.push_back({"tokens_per_s", speed.tokens});
  writeScalars(facts.step, scalars);
}

void Report::validation(int64_t step, double loss) {
  line(format("step %lld/%lld | val %.4f", static_cast<long long>(step),
              static_cast<long long>(options.steps), loss));
  writeLog(step, "\"val_loss\":" + jsonNumber(loss));
  writeScalars(step, {{"val_loss", loss}});
}

/// On one line: a text may hold anything that a terminal would obey.
void Report::sample(int64_t step, const std::string &text) {
  std::string shown = printable(text);
  line(format("step %lld/%lld | ", static_cast<long long>(step),
              static_cast<long long>(options.steps)) +
       shown);
  writeLog(step, "\"sample\":" + quoteJson(shown));
}

//===----------------------------------------------------------------------===//
// Terminal
//===----------------------------------------------------------------------===//

/// How far the run has come.
std::string Report::barText(int64_t step) const {
  constexpr size_t width = 10;
  constexpr size_t stepsForEstimate = 50;
  double done = static_cast<double>(step) /
                static_cast<double>(std::max<int64_t>(1, options.steps));
  std::string bar(static_cast<size_t>(done * double(width)), '#');
  bar.resize(width, '.');
  auto left = static_cast<long>(
      medianSeconds(stepsForEstimate) * double(options.steps - step) + 0.5);
  return format("[%s] %ld:%02ld:%02ld left", bar.c_str(), left / 3600,
                left / 60 % 60, left % 60);
}

void Report::showStep(const StepFacts &facts) {
  constexpr auto leastPause = std::chrono::milliseconds(100);
  if (options.quiet || isSilent)
    return;
  if (!status.isTerminal()) {
    if (isDue(facts.step, printEvery))
      line(valuesText(facts) + " | " + speedText(facts));
    return;
  }
  statusText = {valuesText(facts),
                barText(facts.step) + " | " + speedText(facts)};
  auto now = std::chrono::steady_clock::now();
  if (now - drawnAt < leastPause)
    return;
  status.draw(statusText);
  drawnAt = now;
}

void Report::line(const std::string &text) {
  if (options.quiet || isSilent)
    return;
  status.clear();
  print(printable(text) + "\n"); // it may hold names from files
  if (!statusText.empty())
    status.draw(statusText);
}

void Report::warning(const std::string &text) {
  status.clear();
  std::fprintf(stderr, "warning: %s\n", printable(text).c_str());
  if (!statusText.empty())
    status.draw(statusText);
}

void Report::progress(const std::string &text, double fraction) {
  if (options.quiet || isSilent || !status.isTerminal())
    return;
  if (fraction >= 1)
    status.clear();
  else
    status.draw({format("%s: %.0f %%", text.c_str(), fraction * 100)});
}

void Report::summary(const std::string &text) {
  if (isSilent)
    return;
  if (!statusText.empty()) // those of the last step stay
    status.draw(statusText);
  statusText.clear();
  status.keep();
  print(text + "\n");
}
