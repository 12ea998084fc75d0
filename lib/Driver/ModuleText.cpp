//===- ModuleText.cpp - Modules between phases, as text -------------------===//

#include "ModuleText.h"

#include "hone/IR/Hone.h"
#include "hone/Plan/Plan.h"
#include "hone/Support/ParseFile.h"
#include "hone/Support/SafeTensors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace hone;
using llvm::Error;

static constexpr StringLiteral constantsAttr = "hone.constants";
/// Entries of `hone.init`: the values, or how many bytes of them the text left
/// out.
static constexpr StringLiteral dataEntry = "data";
static constexpr StringLiteral bytesEntry = "data_bytes";

void driver::notePackage(ModuleOp module, const Package &package) {
  Builder builder(module.getContext());
  auto note = [&](StringRef name, StringRef value) {
    if (value.empty())
      module->removeAttr(name);
    else
      module->setAttr(name, builder.getStringAttr(value));
  };
  note("hone.package",
       llvm::sys::path::filename(StringRef(package.path).rtrim('/')));
  note("hone.weights", package.weights);
  note("hone.weights_id", package.weightsId);
  note(constantsAttr, package.constants);
}

std::string driver::elisionNote(StringRef comment, int count) {
  if (count == 0)
    return "";
  return llvm::formatv("{0} left out, of more than {1} bytes each: values of "
                       "{2} buffer(s), which are in consts.safetensors\n",
                       comment, maxPrintedBytes, count);
}

std::string driver::printModule(ModuleOp module, bool toGoOn) {
  OwningOpRef<ModuleOp> printed = module.clone();
  llvm::SmallDenseSet<Attribute> elided;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](DictionaryAttr init) -> std::optional<Attribute> {
    auto data = init.getAs<StringAttr>(dataEntry);
    if (!data || data.size() <= maxPrintedBytes)
      return std::nullopt;
    elided.insert(data);
    Builder builder(init.getContext());
    NamedAttrList entries(init);
    entries.erase(dataEntry);
    entries.set(bytesEntry, builder.getI64IntegerAttr(int64_t(data.size())));
    return entries.getDictionary(init.getContext());
  });
  replacer.recursivelyReplaceElementsIn(*printed);
  std::string text = elisionNote("//", int(elided.size()));
  llvm::raw_string_ostream stream(text);
  printed->print(stream, OpPrintingFlags().enableDebugInfo(toGoOn));
  return text + "\n";
}

namespace {
/// Reads values from the file that a module names, opened when one is needed.
class ConstantReader {
public:
  explicit ConstantReader(ModuleOp module) : module(module) {}

  /// `init` with the values of the argument `name` of type `type`, or `init`
  /// itself where it needs none.
  llvm::Expected<DictionaryAttr> complete(DictionaryAttr init, StringRef name,
                                          StringRef kind, Type type);

private:
  llvm::Expected<StringRef> read(StringRef name);

  ModuleOp module;
  std::optional<SafeTensors> file;
};
} // namespace

llvm::Expected<StringRef> ConstantReader::read(StringRef name) {
  auto path = module->getAttrOfType<StringAttr>(constantsAttr);
  if (!path)
    return makeError("'" + name +
                     "' has no values here, expected "
                     "--package=DIR.hone, which holds them");
  if (!file) {
    llvm::Expected<SafeTensors> opened = SafeTensors::open(path);
    if (!opened)
      return opened.takeError();
    file.emplace(std::move(*opened));
  }
  return file->bytes(name);
}

llvm::Expected<DictionaryAttr> ConstantReader::complete(DictionaryAttr init,
                                                        StringRef name,
                                                        StringRef kind,
                                                        Type type) {
  auto dist = init ? init.getAs<StringAttr>("dist") : StringAttr();
  if (!dist || dist != "file" || kind == kind::param || init.get(dataEntry))
    return init;
  llvm::Expected<StringRef> bytes = read(name);
  if (!bytes)
    return bytes.takeError();
  // The type is that of a rank where the text is behind the shard phase.
  auto left = init.getAs<IntegerAttr>(bytesEntry);
  int64_t expected =
      left ? left.getInt() : byteSize(cast<RankedTensorType>(type));
  if (int64_t(bytes->size()) != expected)
    return makeError("'" + name + "' has " + Twine(bytes->size()) +
                     " bytes in the package, expected " + Twine(expected));
  NamedAttrList entries(init);
  entries.erase(bytesEntry);
  entries.set(dataEntry, StringAttr::get(module.getContext(), *bytes));
  return entries.getDictionary(module.getContext());
}

Error driver::restoreConstants(ModuleOp module) {
  ConstantReader reader(module);
  // Those of stages are in modules of their own.
  SmallVector<func::FuncOp> functions;
  module.walk([&](func::FuncOp func) { functions.push_back(func); });
  for (func::FuncOp func : functions)
    for (unsigned index = 0; index != func.getNumArguments(); ++index) {
      llvm::Expected<DictionaryAttr> init = reader.complete(
          func.getArgAttrOfType<DictionaryAttr>(index, attr::init),
          argString(func, index, attr::fqn), argString(func, index, attr::kind),
          func.getArgumentTypes()[index]);
      if (!init)
        return init.takeError();
      if (*init)
        func.setArgAttr(index, attr::init, *init);
    }
  for (auto program : module.getOps<plan::ProgramOp>())
    for (auto argument : program.getOps<plan::ArgumentOp>()) {
      llvm::Expected<DictionaryAttr> init = reader.complete(
          argument.getInit().value_or(DictionaryAttr()), argument.getFqn(),
          argument.getKind(), argument.getType());
      if (!init)
        return init.takeError();
      if (*init)
        argument.setInitAttr(*init);
    }
  return Error::success();
}
