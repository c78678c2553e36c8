// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of a matmul root: a pure function of accumulators and operands,
// in a struct with the descriptors of what it reads and writes.

#include "compiler/codegen/Emitters.h"

using namespace mlir;
using namespace fusec;

std::string fusec::getAccumulatorType(const MatmulIteration &iteration) {
  ContractionOp root = iteration.root;
  Type type = getElementType(root.getLhs()[0]);
  if (type.isF64())
    return "double";
  if (isa<FloatType>(type))
    return "float";
  return type.getIntOrFloatBitWidth() == 64 ? "long long" : "int";
}

/// The root's value at a point, in compute type; not yet rounded.
static std::string getRootValue(Value value) {
  Type type = getElementType(value);
  std::string acc =
      "acc[" + std::to_string(cast<OpResult>(value).getResultNumber()) + "]";
  return isa<FloatType>(type) ? acc : storageType(type) + "(" + acc + ")";
}

namespace {
/// Writes the functions of an epilogue: that of the results, and of rows that
/// are reduced one each. All see accumulators, row and operands by one name.
class FunctionWriter {
public:
  FunctionWriter(KernelWriter &writer, const MatmulIteration &iteration);

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
  const MatmulIteration &iteration;
  std::string accumulators, parameters;
  SmallVector<std::string> operands;          // names of the iteration's
  std::map<Operation *, std::string> members; // of Row
};
} // namespace

FunctionWriter::FunctionWriter(KernelWriter &writer,
                               const MatmulIteration &iteration)
    : writer(writer), iteration(iteration),
      accumulators(
          "const " + getAccumulatorType(iteration) + " (&acc)[" +
          std::to_string(ContractionOp(iteration.root).getNumAccumulators()) +
          "]") {
  for (const TileOperand &operand : iteration.operands) {
    // What is no argument of the region is held from an earlier root.
    std::string base = "held";
    if (auto argument = dyn_cast<BlockArgument>(operand.value))
      base = getTensorName(cast<StepOp>(argument.getOwner()->getParentOp())
                               .getInputBuffer(argument)
                               .getSymName());
    operands.push_back(writer.uniqueName(base + "_at"));
    parameters += ", " + computeType(getElementType(operand.value)) + " " +
                  operands.back();
  }
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
    signature += ", " + computeType(program[node].type) + " &" + results.back();
  }
  std::string body = writer.capture(indent + 1, [&] {
    for (auto [node, name] : llvm::zip_equal(nodes, results)) {
      std::string value = emitter.emit(node);
      writer.line(name + " = " + value + ";");
    }
  });
  std::string margin(2 * indent, ' ');
  return margin + "FUSEC_DEVICE static void apply(" + signature + ") {\n" +
         body + margin + "}\n";
}

std::string FunctionWriter::writePhases() {
  std::string row, phases, names;
  for (auto [op, node] : iteration.reductions) {
    const std::string &member = members[op];
    std::string name = writer.uniqueName("Phase");
    row += "    " + getCombiner(op) + "::Value " + member + ";\n";
    names += (names.empty() ? "" : ", ") + name;
    phases += "  struct " + name + " {\n    typedef " +
              getAccumulatorType(iteration) + " Accumulator;\n    typedef " +
              getCombiner(op) + " Combiner;\n    FUSEC_DEVICE static " +
              "Combiner::Value &of(Row &row) { return row." + member + "; }\n" +
              writeApply(node, "value", /*stores=*/false, 2) + "  };\n";
  }
  return "  struct Row {\n" + row + "  };\n" + phases +
         "  typedef fusec::Phases<" + names + "> Phases;\n";
}

std::string FunctionWriter::write() {
  SmallVector<unsigned> nodes;
  for (const TileStore &store : iteration.stores)
    nodes.push_back(store.node);
  std::string phases = members.empty() ? "" : writePhases();
  return phases + writeApply(nodes, "result", /*stores=*/true, 1);
}

std::string fusec::declareEpilogue(KernelWriter &writer, StringRef name,
                                   const MatmulIteration &iteration,
                                   ArrayRef<Descriptor> operands,
                                   ArrayRef<Descriptor> results) {
  auto join = [](ArrayRef<Descriptor> list, std::string Descriptor::*member) {
    std::string text;
    for (const Descriptor &descriptor : list)
      text += (text.empty() ? "" : ",\n      ") + descriptor.*member;
    return text;
  };
  ContractionOp root = iteration.root;
  std::string functions = FunctionWriter(writer, iteration).write();
  writer.declarations()
      << "struct " << name << " {\n  typedef " << getAccumulatorType(iteration)
      << " Accumulator;\n  static constexpr int accumulators = "
      << root.getNumAccumulators() << ";\n  typedef fusec::Pack<"
      << join(operands, &Descriptor::type) << "> Operands;\n"
      << "  typedef fusec::Pack<" << join(results, &Descriptor::type)
      << "> Results;\n  Operands operands;\n  Results results;\n"
      << functions << "};\n\n";
  return "{{" + join(operands, &Descriptor::value) + "},\n      {" +
         join(results, &Descriptor::value) + "}}";
}
