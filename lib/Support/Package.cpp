//===- Package.cpp - Reading an exported package --------------------------===//

#include "hone/Support/Package.h"

#include "hone/IR/PackageFunction.h"
#include "hone/Support/Json.h"
#include "hone/Support/ParseFile.h"
#include "hone/Support/SafeTensors.h"

#include "base/Fnv.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace hone;

static std::string joinPath(StringRef folder, StringRef file) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, file);
  return std::string(path);
}

static llvm::Expected<std::string> readText(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return makeError(path + ": cannot be read: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

std::string hone::sha256(StringRef text) {
  llvm::SHA256 hash;
  hash.update(text);
  std::array<uint8_t, 32> digest = hash.final();
  return llvm::toHex(digest, /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

namespace {
/// Reads fields of manifest.json; errors say which field of which file.
class ManifestReader {
public:
  ManifestReader(StringRef path, const llvm::json::Object &object,
                 std::string where = "")
      : path(path), object(object), where(std::move(where)) {}

  llvm::Expected<std::string> string(StringRef name) const {
    if (std::optional<StringRef> value = object.getString(name))
      return value->str();
    return wrong(name, "a string");
  }
  llvm::Expected<int64_t> integer(StringRef name) const {
    if (std::optional<int64_t> value = object.getInteger(name))
      return *value;
    return wrong(name, "an integer");
  }
  llvm::Expected<const llvm::json::Array *> array(StringRef name) const {
    if (const llvm::json::Array *value = object.getArray(name))
      return value;
    return wrong(name, "an array");
  }
  llvm::Error wrong(StringRef name, StringRef expected) const {
    return makeError(
        llvm::formatv("{0}: {1}\"{2}\" is {3}, expected {4}", path, where, name,
                      object.get(name) ? "something else" : "missing", expected)
            .str());
  }

private:
  StringRef path;
  const llvm::json::Object &object;
  std::string where;
};
} // namespace

static llvm::Expected<PackageArgument>
readArgument(StringRef path, const llvm::json::Value &value, size_t index) {
  std::string where = llvm::formatv("argument {0}: ", index);
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return makeError(path + ": " + where + "is not an object");
  ManifestReader reader(path, *object, where);
  PackageArgument argument;
  for (auto [name, field] :
       {std::pair("fqn", &argument.fqn), std::pair("kind", &argument.kind),
        std::pair("dtype", &argument.dtype)}) {
    llvm::Expected<std::string> text = reader.string(name);
    if (!text)
      return text.takeError();
    *field = std::move(*text);
  }
  llvm::Expected<const llvm::json::Array *> shape = reader.array("shape");
  if (!shape)
    return shape.takeError();
  for (const llvm::json::Value &size : **shape) {
    std::optional<int64_t> number = size.getAsInteger();
    if (!number || *number < 0)
      return reader.wrong("shape", "an array of sizes");
    argument.shape.push_back(*number);
  }
  return argument;
}

static llvm::Error readManifest(StringRef path, Package &package,
                                SmallVectorImpl<PackageArgument> &arguments) {
  llvm::Expected<std::string> text = readText(path);
  if (!text)
    return text.takeError();
  llvm::Expected<llvm::json::Value> json = parseJson(*text);
  if (!json)
    return makeError(path + ": " + llvm::toString(json.takeError()));
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return makeError(path + ": is not a JSON object");
  ManifestReader reader(path, *object);
  llvm::Expected<int64_t> schema = reader.integer("schema");
  if (!schema)
    return schema.takeError();
  if (*schema != packageSchema)
    return makeError(llvm::formatv("{0}: schema is {1}, expected {2}: export "
                                   "the model again with this version",
                                   path, *schema, packageSchema)
                         .str());
  for (auto [name, field] : {std::pair("model", &package.model),
                             std::pair("fingerprint", &package.fingerprint)}) {
    llvm::Expected<std::string> value = reader.string(name);
    if (!value)
      return value.takeError();
    *field = std::move(*value);
  }
  if (const llvm::json::Value *optimizer = object->get("optimizer"))
    package.optimizer = *optimizer;
  llvm::Expected<const llvm::json::Array *> table = reader.array("arguments");
  if (!table)
    return table.takeError();
  for (auto [index, entry] : llvm::enumerate(**table)) {
    llvm::Expected<PackageArgument> argument = readArgument(path, entry, index);
    if (!argument)
      return argument.takeError();
    arguments.push_back(std::move(*argument));
  }
  return llvm::Error::success();
}

/// What abi.def calls "weights_id", of the file `path`.
static llvm::Expected<std::string> identifyWeights(StringRef path) {
  // Mapped, and only the header is looked at.
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return makeError(path + ": cannot be read: " + file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  constexpr size_t lengthBytes = 8;
  uint64_t length = bytes.size() < lengthBytes
                        ? 0
                        : llvm::support::endian::read64le(bytes.data());
  if (bytes.size() < lengthBytes || length > bytes.size() - lengthBytes)
    return makeError(path + ": has " + llvm::Twine(bytes.size()) +
                     " bytes, expected a safetensors file");
  uint64_t hash = honert::fnv1a(bytes.substr(lengthBytes, length));
  return llvm::formatv("{0} {1:x-16}", bytes.size(), hash).str();
}

/// The absolute path of a file of the package, "" if it holds no such file.
static llvm::Expected<std::string> locate(const Package &package,
                                          StringRef file) {
  std::string path = joinPath(package.path, file);
  if (!llvm::sys::fs::exists(path))
    return "";
  llvm::SmallString<128> absolute(path);
  if (std::error_code code = llvm::sys::fs::make_absolute(absolute))
    return makeError(path + ": cannot be located: " + code.message());
  llvm::sys::path::remove_dots(absolute);
  return std::string(absolute);
}

/// Finds the weights that runs start from and the values of buffers, if the
/// package holds any.
static llvm::Error findTensors(Package &package) {
  llvm::Expected<std::string> weights = locate(package, "model.safetensors");
  if (!weights)
    return weights.takeError();
  llvm::Expected<std::string> constants = locate(package, "consts.safetensors");
  if (!constants)
    return constants.takeError();
  package.weights = std::move(*weights);
  package.constants = std::move(*constants);
  if (package.weights.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> identity =
      identifyWeights(joinPath(package.path, "model.safetensors"));
  if (!identity)
    return identity.takeError();
  package.weightsId = std::move(*identity);
  return llvm::Error::success();
}

llvm::Expected<Package>
hone::readPackage(StringRef path, SmallVectorImpl<PackageArgument> &arguments) {
  if (!llvm::sys::fs::exists(path))
    return makeError(path + ": does not exist, expected a package directory");
  if (!llvm::sys::fs::is_directory(path))
    return makeError(path + ": is not a directory, expected a package");
  Package package;
  package.path = path.str();
  package.graphPath = joinPath(path, "graph.mlir");
  std::string manifest = joinPath(path, "manifest.json");
  if (llvm::Error error = readManifest(manifest, package, arguments))
    return std::move(error);
  llvm::Expected<std::string> graph = readText(package.graphPath);
  if (!graph)
    return graph.takeError();
  package.graph = std::move(*graph);
  if (llvm::Error error = findTensors(package))
    return std::move(error);
  return package;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// "f32[8x64]", as the argument table would print it.
static std::string describeType(StringRef dtype, ArrayRef<int64_t> shape) {
  std::string text = dtype.str() + "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleave(shape, stream, "x");
  return text + "]";
}

static std::string describeType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!tensor) {
    stream << type;
    return text;
  }
  stream << tensor.getElementType();
  return describeType(text, tensor.getShape());
}

static LogicalResult checkArguments(func::FuncOp func,
                                    ArrayRef<PackageArgument> arguments) {
  if (func.getNumArguments() != arguments.size())
    return func.emitError("has ")
           << func.getNumArguments() << " arguments, expected "
           << arguments.size() << " as in manifest.json";
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    auto check = [&, index = index](StringRef what, StringRef seen,
                                    StringRef expected) -> LogicalResult {
      if (seen == expected)
        return success();
      return func.emitError("argument ")
             << index << " has " << what << " '" << seen << "', expected '"
             << expected << "' as in manifest.json";
    };
    std::string seen = describeType(func.getArgumentTypes()[index]);
    std::string expected = describeType(argument.dtype, argument.shape);
    if (failed(
            check("name", argString(func, index, attr::fqn), argument.fqn)) ||
        failed(
            check("kind", argString(func, index, attr::kind), argument.kind)) ||
        failed(check("type", seen, expected)))
      return failure();
  }
  return success();
}

/// An edited graph is a model of its own: checkpoints tell it from the exported
/// one. With a mesh it is the same: the user has said how ranks divide it.
static void updateFingerprint(ModuleOp module, Package &package) {
  std::string seen = sha256(package.graph);
  bool isAnnotated = llvm::any_of(*module.getBody(), [](Operation &op) {
    return op.getName().getStringRef() == "dist.mesh";
  });
  if (seen == package.fingerprint || isAnnotated)
    return;
  package.fingerprint = std::move(seen);
  emitWarning(
      NameLoc::get(StringAttr::get(module.getContext(), package.graphPath)))
      << "was edited after export; hone seal " << package.path
      << " accepts the edit";
}

/// The attribute `hone.optimizer`, or a part of it, as the manifest has it.
static llvm::json::Value toJson(Attribute attribute) {
  if (auto dictionary = dyn_cast_or_null<DictionaryAttr>(attribute)) {
    llvm::json::Object object;
    for (NamedAttribute entry : dictionary)
      object[entry.getName().getValue()] = toJson(entry.getValue());
    return object;
  }
  if (auto array = dyn_cast_or_null<ArrayAttr>(attribute))
    return llvm::json::Array(llvm::map_range(array, toJson));
  if (auto text = dyn_cast_or_null<StringAttr>(attribute))
    return text.getValue();
  if (isa_and_nonnull<UnitAttr>(attribute))
    return true;
  if (auto flag = dyn_cast_or_null<BoolAttr>(attribute))
    return flag.getValue();
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return number.getInt();
  return nullptr;
}

/// The manifest repeats the graph's optimizer, for people and scripts: to edit
/// it there alone would change nothing.
static LogicalResult checkOptimizer(ModuleOp module, const Package &package) {
  if (package.optimizer == nullptr ||
      package.optimizer == toJson(module->getAttr(attr::optimizer)))
    return success();
  StringAttr manifest = StringAttr::get(
      module.getContext(), joinPath(package.path, "manifest.json"));
  return emitError(NameLoc::get(manifest))
         << "optimizer differs from the one in graph.mlir, expected the same "
            "(honec has options for other settings)";
}

/// Puts the values of buffers and optimizer state that come from a file into
/// their `hone.init`.
static LogicalResult loadConstants(func::FuncOp func, StringRef path) {
  std::optional<SafeTensors> file;
  MLIRContext *context = func.getContext();
  auto fail = [&](llvm::Error error) {
    std::string message = llvm::toString(std::move(error));
    StringRef said = message;
    said.consume_front((path + ": ").str()); // The location says it.
    return emitError(NameLoc::get(StringAttr::get(context, path))) << said;
  };
  for (unsigned index = 0; index != func.getNumArguments(); ++index) {
    auto init = func.getArgAttrOfType<DictionaryAttr>(index, attr::init);
    auto dist = init ? init.getAs<StringAttr>("dist") : StringAttr();
    if (!dist || dist.getValue() != "file" ||
        argString(func, index, attr::kind) == kind::param)
      continue;
    if (!file) {
      llvm::Expected<SafeTensors> opened = SafeTensors::open(path);
      if (!opened)
        return fail(opened.takeError());
      file.emplace(std::move(*opened));
    }
    llvm::Expected<StringRef> bytes =
        file->bytes(argString(func, index, attr::fqn),
                    cast<RankedTensorType>(func.getArgumentTypes()[index]));
    if (!bytes)
      return fail(bytes.takeError());
    NamedAttrList entries(init);
    entries.set("data", StringAttr::get(context, *bytes));
    func.setArgAttr(index, attr::init, entries.getDictionary(context));
  }
  return success();
}

OwningOpRef<ModuleOp> hone::parsePackage(Package &package,
                                         ArrayRef<PackageArgument> arguments,
                                         MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parseGraph(
      llvm::MemoryBuffer::getMemBuffer(package.graph, package.graphPath),
      context);
  if (!module)
    return {};
  updateFingerprint(*module, package);
  func::FuncOp func = findPackageFunction(*module);
  if (!func) {
    emitError(FileLineColLoc::get(context, package.graphPath, 1, 1))
        << "has no function @"
        << (holdsWholeStep(*module) ? "step" : "forward");
    return {};
  }
  if (failed(checkArguments(func, arguments)) ||
      failed(checkOptimizer(*module, package)) ||
      failed(loadConstants(func, joinPath(package.path, "consts.safetensors"))))
    return {};
  return module;
}
