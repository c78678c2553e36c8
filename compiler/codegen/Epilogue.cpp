// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of a root: a pure function of accumulators and operands,
// in a struct with the descriptors of what it reads and writes.

#include "compiler/codegen/Emitters.h"
#include <fmt/core.h>

using namespace mlir;
using namespace fusec;

static std::string getAccumulatorType(ContractionOp root) {
  Type type = getElementType(root.getLhs()[0]);
  if (type.isF64())
    return "double";
  if (isa<FloatType>(type))
    return "float";
  return type.getIntOrFloatBitWidth() == 64 ? "long long" : "int";
}

EpilogueRootType fusec::getRootType(const MatmulIteration &iteration) {
  ContractionOp root = iteration.root;
  return {getAccumulatorType(root), root.getNumAccumulators()};
}

/// The root's value at a point, in compute type; not yet rounded.
static std::string getRootValue(Value value) {
  Type type = getElementType(value);
  std::string acc =
      fmt::format("acc[{}]", cast<OpResult>(value).getResultNumber());
  return isa<FloatType>(type) ? acc
                              : fmt::format("{}({})", storageType(type), acc);
}

/// Adds the operands' parameters and returns their names.
static SmallVector<std::string> addParameters(KernelWriter &writer,
                                              ArrayRef<TileOperand> operands,
                                              std::string &parameters) {
  SmallVector<std::string> names;
  for (const TileOperand &operand : operands) {
    // What is no argument of the region is held from an earlier root.
    std::string base = "held";
    if (auto argument = dyn_cast<BlockArgument>(operand.value))
      base = getTensorName(cast<StepOp>(argument.getOwner()->getParentOp())
                               .getInputBuffer(argument)
                               .getSymName());
    names.push_back(writer.uniqueName(base + "_at"));
    parameters += fmt::format(
        ", {} {}", computeType(getElementType(operand.value)), names.back());
  }
  return names;
}

namespace {
/// Writes the functions of an epilogue: that of the results, and of rows that
/// are reduced one each. All see accumulators, row and operands by one name.
class FunctionWriter {
public:
  FunctionWriter(KernelWriter &writer, const TileEpilogue &iteration,
                 const EpilogueRootType &root);

  /// The members of the struct behind its descriptors.
  std::string write();

private:
  /// `apply` of the nodes' values, which go to parameters of this name: for the
  /// results to store, or for a reduction.
  std::string writeApply(ArrayRef<unsigned> nodes, StringRef base, bool stores,
                         unsigned indent);
  std::string writePhases();
  std::string rootValue(Value value) const;

  KernelWriter &writer;
  const TileEpilogue &iteration;
  std::string accumulator, accumulators, parameters;
  SmallVector<std::string> operands;          // names of the iteration's
  std::map<Operation *, std::string> members; // of Row
};
} // namespace

FunctionWriter::FunctionWriter(KernelWriter &writer,
                               const TileEpilogue &iteration,
                               const EpilogueRootType &root)
    : writer(writer), iteration(iteration), accumulator(root.accumulator),
      accumulators(fmt::format("const {} (&acc)[{}]", root.accumulator,
                               root.accumulators)) {
  operands = addParameters(writer, iteration.operands, parameters);
  for (auto [op, node] : iteration.reductions)
    members[op] = writer.uniqueName(op->getName().stripDialect());
  if (!members.empty())
    accumulators += ", const Row &row";
}

std::string FunctionWriter::rootValue(Value value) const {
  auto it = members.find(value.getDefiningOp());
  return it == members.end() ? getRootValue(value)
                             : getReducedValue(it->first, "row." + it->second);
}

std::string FunctionWriter::writeApply(ArrayRef<unsigned> nodes, StringRef base,
                                       bool stores, unsigned indent) {
  const ScalarProgram &program = iteration.epilogue;
  ScalarEmitter::Sources sources;
  sources.root = [&](Value value) { return rootValue(value); };
  ScalarEmitter emitter(writer, program, {}, std::nullopt, sources);
  for (auto [operand, name] : llvm::zip_equal(iteration.operands, operands))
    emitter.bind(operand.node, name);
  if (stores)
    emitter.leaveRoundingToStores(nodes);
  std::string signature = accumulators + parameters;
  SmallVector<std::string> results;
  for (unsigned node : nodes) {
    results.push_back(writer.uniqueName(base));
    signature += fmt::format(", {} &{}", computeType(program[node].type),
                             results.back());
  }
  std::string body = writer.capture(indent + 1, [&] {
    for (auto [node, name] : llvm::zip_equal(nodes, results))
      writer.line("{} = {};", name, emitter.emit(node));
  });
  return fmt::format("{0:{1}}FUSEC_DEVICE static void apply({2}) {{\n"
                     "{3}{0:{1}}}}\n",
                     "", 2 * indent, signature, body);
}

std::string FunctionWriter::writePhases() {
  std::string row, phases, names;
  for (auto [op, node] : iteration.reductions) {
    const std::string &member = members[op];
    std::string name = writer.uniqueName("Phase");
    std::string combiner = getCombiner(op);
    row += fmt::format("    {}::Value {};\n", combiner, member);
    names += (names.empty() ? "" : ", ") + name;
    phases += fmt::format("  struct {} {{\n"
                          "    typedef {} Accumulator;\n"
                          "    typedef {} Combiner;\n"
                          "    FUSEC_DEVICE static Combiner::Value &of(Row "
                          "&row) {{ return row.{}; }}\n"
                          "{}  }};\n",
                          name, accumulator, combiner, member,
                          writeApply(node, "value", /*stores=*/false, 2));
  }
  return fmt::format("  struct Row {{\n"
                     "{}  }};\n"
                     "{}  typedef fusec::Phases<{}> Phases;\n",
                     row, phases, names);
}

std::string FunctionWriter::write() {
  SmallVector<unsigned> nodes;
  for (const TileStore &store : iteration.stores)
    nodes.push_back(store.node);
  std::string phases = members.empty() ? "" : writePhases();
  return phases + writeApply(nodes, "result", /*stores=*/true, 1);
}

static std::string join(ArrayRef<Descriptor> list,
                        std::string Descriptor::*member) {
  std::string text;
  for (const Descriptor &descriptor : list)
    text += (text.empty() ? "" : ",\n      ") + descriptor.*member;
  return text;
}

/// The nodes that are what is read of the matrix, and the type that it is read
/// as: bytes that are only made floats are read as such.
static std::pair<SmallVector<unsigned>, std::string>
getReadNodes(const MadeMatrix &made) {
  const ScalarProgram &program = made.program;
  Type type = program[made.source].type;
  SmallVector<unsigned> casts;
  bool areFloats = type.isInteger(8);
  for (unsigned n = 0; n < program.size(); ++n)
    if (llvm::is_contained(program[n].operands, made.source)) {
      areFloats &=
          isa<CastOp>(program[n].op) && computeType(program[n].type) == "float";
      casts.push_back(n);
    }
  if (areFloats)
    return {casts, "float"};
  return {{made.source}, computeType(type)};
}

Descriptor fusec::declareMade(KernelWriter &writer, const MadeMatrix &made,
                              ArrayRef<Descriptor> operands) {
  if (made.isConversion())
    return {fmt::format("fusec::Conversion<{}, {}>",
                        storageType(made.program[made.node].type),
                        getReadNodes(made).second),
            "{}"};
  std::string name = writer.uniqueName("Making"), parameters;
  SmallVector<std::string> names =
      addParameters(writer, made.operands, parameters);
  const ScalarNode &node = made.program[made.node];
  ScalarEmitter emitter(writer, made.program, {}, std::nullopt, {});
  auto [readNodes, read] = getReadNodes(made);
  for (unsigned node : readNodes)
    emitter.bind(node, "acc[0]");
  for (auto [operand, text] : llvm::zip_equal(made.operands, names))
    emitter.bind(operand.node, text);
  emitter.leaveRoundingToStores(made.node);
  std::string result = writer.uniqueName("element");
  std::string body = writer.capture(
      2, [&] { writer.line("{} = {};", result, emitter.emit(made.node)); });
  std::string type = storageType(node.type);
  writer.declarations() << fmt::format(
      "struct {0} {{\n"
      "  typedef {1} Accumulator;\n"
      "  typedef {2} Element;\n"
      "  typedef fusec::Pack<{3}> Operands;\n"
      "  typedef fusec::Pack<fusec::MadeElement<{2}>> Results;\n"
      "  Operands operands;\n"
      "  FUSEC_DEVICE static void apply(const {1} (&acc)[1]{4}, {5} &{6}) {{\n"
      "{7}  }}\n"
      "}};\n\n",
      name, read, type, join(operands, &Descriptor::type), parameters,
      computeType(node.type), result, body);
  return {name, braced({braced({join(operands, &Descriptor::value)})})};
}

std::string fusec::declareEpilogue(KernelWriter &writer, StringRef name,
                                   const TileEpilogue &iteration,
                                   const EpilogueRootType &root,
                                   ArrayRef<Descriptor> operands,
                                   ArrayRef<Descriptor> results) {
  std::string functions = FunctionWriter(writer, iteration, root).write();
  writer.declarations() << fmt::format(
      "struct {} {{\n"
      "  typedef {} Accumulator;\n"
      "  static constexpr int accumulators = {};\n"
      "  typedef fusec::Pack<{}> Operands;\n"
      "  typedef fusec::Pack<{}> Results;\n"
      "  Operands operands;\n"
      "  Results results;\n"
      "{}}};\n\n",
      name, root.accumulator, root.accumulators,
      join(operands, &Descriptor::type), join(results, &Descriptor::type),
      functions);
  return fmt::format("{{{},\n      {}}}",
                     braced({join(operands, &Descriptor::value)}),
                     braced({join(results, &Descriptor::value)}));
}
