//===- Train.cpp - hone-run PKG.hone --------------------------------------===//
//
// The package goes through the same phases as in honec up to the step. Then the
// program is described to the runtime: arguments and results lie one after the
// other in an arena, and every function is one callback that reads its
// arguments there, interprets the function and writes its results back.
//
//===----------------------------------------------------------------------===//

#include "Train.h"

#include "ArenaTensors.h"
#include "HoneRun.h"
#include "hone/IR/Documents.h"
#include "hone/IR/DroppedRows.h"
#include "hone/IR/IndexedOps.h"
#include "hone/Interpreter/Ranks.h"
#include "hone/Plan/AbiNumbers.h"
#include "hone/Plan/Plan.h"
#include "hone/Support/Package.h"
#include "hone/Support/ParseFile.h"
#include "honert/honert.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

//===----------------------------------------------------------------------===//
// From the package to the step
//===----------------------------------------------------------------------===//

/// Runs the phases up to the step, each on its own so that an error is that of
/// its phase.
static LogicalResult runPhases(ModuleOp module,
                               const run::TrainOptions &options) {
  for (auto [name, phase] : getPhases()) {
    if (phase > Phase::Shard)
      break;
    if (phase == Phase::Raise && !options.raise)
      continue;
    PassManager manager(module.getContext());
    buildPhase(phase, manager, options.pipeline);
    if (failed(manager.run(module)))
      return failure();
  }
  // Of the fuse phase, what changes numbers and what a user can ask for.
  PassManager manager(module.getContext());
  OpPassManager &functions = manager.nest<func::FuncOp>();
  buildQuantizedProducts(functions, options.pipeline);
  buildChunkedLoss(functions, options.pipeline);
  return manager.run(module);
}

static OwningOpRef<ModuleOp> readStep(MLIRContext &context,
                                      const run::TrainOptions &options,
                                      Package &package) {
  SmallVector<PackageArgument> arguments;
  llvm::Expected<Package> read = readPackage(options.package, arguments);
  if (!read) {
    printError(read.takeError());
    return {};
  }
  package = std::move(*read);
  OwningOpRef<ModuleOp> module = parsePackage(package, arguments, &context);
  if (!module || failed(runPhases(*module, options)))
    return {};
  return module;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

namespace {
/// A tensor at a place of the arena.
struct Slot {
  Element element;
  Shape shape;
  int64_t offset;
};

/// A function with the places of its arguments and results: those of all ranks
/// together, where there are several.
struct Entry {
  func::FuncOp func;
  FunctionType type;
  SmallVector<Slot> arguments, results;
};

/// The module as the runtime sees it.
class Program {
public:
  Program(ModuleOp module, const run::TrainOptions &options)
      : module(module), options(options), program(honert_program_new()) {}
  ~Program() { honert_program_free(program); }

  /// Gives every argument and result a place and describes all to the runtime.
  LogicalResult describe(const Package &package);
  int main(std::vector<char *> &arguments) {
    return honert_main(program, int(arguments.size()), arguments.data());
  }

private:
  Slot place(Type type);
  FailureOr<Entry> layOut(func::FuncOp func);
  void describeFacts(const Package &package);
  void describeArguments(const Entry &entry);
  void describeIdCheck(StringRef name, DictionaryAttr ids);
  void describeDropped(StringRef name, DictionaryAttr dropped);
  void describeFunction(const Entry &entry);
  int64_t flopsPerStep();
  static int callback(void *user, const char *function, void *arena);
  LogicalResult run(StringRef function, char *arena);

  ModuleOp module;
  const run::TrainOptions &options;
  honert_program *program;
  SmallVector<Entry> entries;
  llvm::StringMap<Slot> state;       // by kind and name: functions share it
  llvm::StringMap<bool> isDescribed; // the same names
  llvm::StringSet<> replaced;        // those that some function replaces
  llvm::StringSet<> described;       // checks of ids, counts of dropped rows
  int64_t arenaBytes = 0;
  int64_t ranks = 1;
};
} // namespace

static std::string nameOfArgument(func::FuncOp func, unsigned index) {
  return (argString(func, index, attr::kind) + " " +
          argString(func, index, attr::fqn))
      .str();
}

Slot Program::place(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Slot slot{*elementOf(tensor.getElementType()), Shape(tensor.getShape()),
            arenaBytes};
  int64_t bytes = elementCount(slot.shape) *
                  byteWidth(run::stored(slot.element, options.mode));
  arenaBytes = llvm::alignTo(arenaBytes + bytes, plan::alignment);
  return slot;
}

FailureOr<Entry> Program::layOut(func::FuncOp func) {
  Entry entry{func, func.getFunctionType(), {}, {}};
  if (!module.getOps<dist::MeshOp>().empty()) {
    FailureOr<dist::Mesh> mesh = dist::Mesh::of(module);
    FailureOr<FunctionType> whole = failure();
    if (mlir::failed(mesh) || mlir::failed(whole = wholeTypeOf(func, *mesh)))
      return failure();
    entry.type = *whole;
    ranks = mesh->numRanks();
  }
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto [it, isNew] = state.try_emplace(nameOfArgument(func, index));
    if (isNew)
      it->second = place(entry.type.getInput(index));
    entry.arguments.push_back(it->second);
  }
  for (auto [index, type] : llvm::enumerate(entry.type.getResults())) {
    auto donated = func.getResultAttrOfType<IntegerAttr>(index, attr::donates);
    if (donated)
      replaced.insert(nameOfArgument(func, donated.getInt()));
    entry.results.push_back(donated ? entry.arguments[donated.getInt()]
                                    : place(type));
  }
  return entry;
}

/// Sum over the ops of a step, all micro-batches and ranks.
int64_t Program::flopsPerStep() {
  int64_t total = 0;
  for (Entry &entry : entries) {
    StringRef name = entry.func.getSymName();
    if (name == "evaluate" || name == "generate")
      continue;
    int64_t times = name == "accumulate" ? options.pipeline.microBatches : 1;
    entry.func.walk(
        [&](HoneOpInterface op) { total += times * op.getCost().flops; });
  }
  return total * ranks;
}

void Program::describeFacts(const Package &package) {
  auto text = [&](const char *key, StringRef value) {
    honert_meta(program, key, value.str().c_str());
  };
  if (auto model = module->getAttrOfType<StringAttr>(attr::model))
    text("model", model.getValue());
  text("precision", options.pipeline.precision);
  text("package", package.path);
  text("fingerprint", package.fingerprint);
  if (!package.weights.empty()) {
    text("weights", package.weights);
    text("weights_id", package.weightsId);
  }
  text("target",
       options.mode == Mode::F64 ? "interpreter, f64" : "interpreter");
  text("compiler", "hone-run");
  honert_meta_number(program, "abi", HONERT_ABI);
  honert_meta_number(program, "micro_batches", options.pipeline.microBatches);
  if (auto count = module->getAttrOfType<IntegerAttr>(attr::crossingAttentions))
    honert_meta_number(program, "crossing_attentions", double(count.getInt()));
  if (auto optimizer = module->getAttrOfType<DictionaryAttr>(attr::optimizer)) {
    if (auto name = optimizer.getAs<StringAttr>("name"))
      text("optimizer", name.getValue());
    for (const char *key : {"lr", "weight_decay", "clip"})
      if (auto number = optimizer.getAs<FloatAttr>(key)) {
        double value = number.getValueAsDouble();
        honert_meta_number(program, key, std::isinf(value) ? 0 : value);
      }
  }
  int64_t parameters = 0, tokens = 0;
  for (Entry &entry : entries) {
    if (entry.func.getSymName() == "update" ||
        entry.func.getSymName() == "evaluate" ||
        entry.func.getSymName() == "generate")
      continue;
    for (auto [index, slot] : llvm::enumerate(entry.arguments)) {
      if (argString(entry.func, index, attr::kind) == kind::param)
        parameters += countElements(
            entry.func.getArgAttrOfType<ArrayAttr>(index, attr::parts),
            entry.type.getInput(index));
      if (argString(entry.func, index, attr::role) == "tokens")
        tokens = elementCount(slot.shape) * options.pipeline.microBatches;
    }
  }
  int64_t flops = flopsPerStep();
  honert_meta_number(program, "parameters", parameters);
  honert_meta_number(program, "flops_per_step", flops);
  if (tokens != 0)
    honert_meta_number(program, "model_flops_per_token",
                       double(flops) / tokens);
}

void Program::describeArguments(const Entry &entry) {
  func::FuncOp func = entry.func;
  for (auto [index, slot] : llvm::enumerate(entry.arguments)) {
    std::string name = nameOfArgument(func, index);
    if (std::exchange(isDescribed[name], true))
      continue;
    StringRef kind = argString(func, index, attr::kind);
    honert_argument(program, abi::kind(kind),
                    argString(func, index, attr::fqn).str().c_str(),
                    int64_t(run::stored(slot.element, options.mode)),
                    slot.shape.size(), slot.shape.data(), slot.offset);
    if (auto parts = func.getArgAttrOfType<ArrayAttr>(index, attr::parts))
      for (auto part : parts.getAsRange<PartAttr>())
        honert_argument_part(program, part.getName().str().c_str(),
                             part.getShape().size(),
                             part.getOffset().asArrayRef().data(),
                             part.getShape().asArrayRef().data());
    abi::Init init =
        abi::init(func.getArgAttrOfType<DictionaryAttr>(index, attr::init));
    std::string aliases =
        abi::aliases(func.getArgAttrOfType<ArrayAttr>(index, attr::aliases));
    honert_argument_init(program, init.kind, init.a, init.b, aliases.c_str());
    describeIdCheck(argString(func, index, attr::fqn),
                    func.getArgAttrOfType<DictionaryAttr>(index, attr::ids));
    describeDropped(
        argString(func, index, attr::fqn),
        func.getArgAttrOfType<DictionaryAttr>(index, attr::dropped));
    if (kind == kind::buffer && replaced.contains(name))
      honert_argument_changes(program);
    if (kind != kind::input)
      continue;
    StringRef role = argString(func, index, attr::role);
    auto vocab = func.getArgAttrOfType<IntegerAttr>(index, attr::vocab);
    honert_argument_role(program, abi::role(role), vocab ? vocab.getInt() : 0);
    if (auto ignored = func.getArgAttrOfType<IntegerAttr>(index, attr::ignore))
      honert_argument_ignore(program, ignored.getInt());
  }
}

void Program::describeFunction(const Entry &entry) {
  func::FuncOp func = entry.func;
  honert_function(program, func.getSymName().str().c_str());
  honert_callback(program, callback, this);
  for (auto [index, slot] : llvm::enumerate(entry.results)) {
    if (func.getResultAttr(index, attr::donates))
      continue;
    StringRef kind = resultString(func, index, attr::kind);
    StringRef fqn = resultString(func, index, attr::fqn);
    bool isNamed = kind == kind::idCheck || kind == kind::dropped;
    std::string name = kind == kind::grad ? ("grad." + fqn).str()
                       : isNamed          ? fqn.str()
                                          : kind.str();
    honert_result(program, name.c_str(),
                  int64_t(run::stored(slot.element, options.mode)),
                  slot.shape.size(), slot.shape.data(), slot.offset);
    describeIdCheck(name,
                    func.getResultAttrOfType<DictionaryAttr>(index, attr::ids));
    describeDropped(
        name, func.getResultAttrOfType<DictionaryAttr>(index, attr::dropped));
  }
}

void Program::describeIdCheck(StringRef name, DictionaryAttr ids) {
  if (ids && described.insert(name).second)
    honert_id_check(program, name.str().c_str(),
                    ids.getAs<StringAttr>("op").str().c_str(),
                    ids.getAs<StringAttr>("source").str().c_str(),
                    ids.getAs<IntegerAttr>("size").getInt());
}

void Program::describeDropped(StringRef name, DictionaryAttr dropped) {
  if (dropped && described.insert(name).second)
    honert_dropped_rows(program, name.str().c_str(),
                        dropped.getAs<StringAttr>("source").str().c_str(),
                        dropped.getAs<IntegerAttr>("rows").getInt(),
                        dropped.getAs<FloatAttr>("factor").getValueAsDouble(),
                        dropped.getAs<FloatAttr>("enough").getValueAsDouble(),
                        dropped.getAs<BoolAttr>("stops").getValue());
}

LogicalResult Program::describe(const Package &package) {
  for (StringRef name :
       {"step", "accumulate", "update", "evaluate", "generate"})
    if (auto func = module.lookupSymbol<func::FuncOp>(name)) {
      FailureOr<Entry> entry = layOut(func);
      if (mlir::failed(entry))
        return failure();
      entries.push_back(std::move(*entry));
    }
  describeFacts(package);
  honert_arena(program, arenaBytes);
  for (const Entry &entry : entries)
    describeArguments(entry);
  for (const Entry &entry : entries)
    describeFunction(entry);
  return success();
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

LogicalResult Program::run(StringRef function, char *arena) {
  const Entry *entry = llvm::find_if(
      entries, [&](Entry &each) { return each.func.getSymName() == function; });
  Tensors arguments;
  for (const Slot &slot : entry->arguments)
    arguments.push_back(run::readTensor(arena + slot.offset, slot.element,
                                        slot.shape, options.mode));
  FailureOr<Tensors> results =
      ranks > 1 ? interpretOnRanks(entry->func, arguments, options.mode)
                : interpret(entry->func, std::move(arguments),
                            {options.mode, nullptr});
  if (failed(results))
    return failure();
  for (auto [tensor, slot] : llvm::zip_equal(*results, entry->results))
    run::writeTensor(arena + slot.offset, tensor, options.mode);
  return success();
}

int Program::callback(void *user, const char *function, void *arena) {
  auto *self = static_cast<Program *>(user);
  return failed(self->run(function, static_cast<char *>(arena))) ? 1 : 0;
}

int run::train(MLIRContext &context, TrainOptions options) {
  Package package;
  OneLineDiagnostics diagnostics(&context, options.package);
  OwningOpRef<ModuleOp> module = readStep(context, options, package);
  if (!module)
    return run::failed;
  Program program(*module, options);
  if (mlir::failed(program.describe(package)))
    return run::failed;
  std::vector<char *> arguments = {options.command.data()};
  llvm::append_range(arguments, options.arguments);
  return program.main(arguments);
}
