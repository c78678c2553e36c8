// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The epilogue of a matmul root: a pure function of accumulators and operands,
// in a struct with the descriptors of what it reads and writes.

#include "compiler/codegen/Emitters.h"

using namespace mlir;
using namespace fusec;

unsigned fusec::getOffsetAlignment(const KernelWriter &writer,
                                   VariantAttr variant, BufferOp buffer,
                                   ArrayRef<Expr> offsets) {
  int64_t bytes = getElementBytes(buffer.getElementType());
  int64_t known = std::min(16u, writer.getAlignment(buffer, variant));
  for (Expr offset : offsets)
    known = getAlignment(offset, known, bytes);
  return std::max<int64_t>(known, bytes);
}

std::string fusec::getAccumulatorType(const MatmulIteration &iteration) {
  ContractionOp root = iteration.root;
  Type type = getElementType(root.getLhs()[0]);
  if (type.isF64())
    return "double";
  if (isa<FloatType>(type))
    return "float";
  return type.getIntOrFloatBitWidth() == 64 ? "long long" : "int";
}

/// The root's value at a point, in compute type.
static std::string getRootValue(Value value) {
  Type type = getElementType(value);
  std::string acc =
      "acc[" + std::to_string(cast<OpResult>(value).getResultNumber()) + "]";
  // A 16-bit product is rounded like the result of any op.
  if (type.isF16() || type.isBF16())
    return "fusec::cast<float>(fusec::cast<" + storageType(type) + ">(" + acc +
           "))";
  return isa<FloatType>(type) ? acc : storageType(type) + "(" + acc + ")";
}

static std::string emitFunction(KernelWriter &writer,
                                const MatmulIteration &iteration) {
  const ScalarProgram &program = iteration.epilogue;
  ContractionOp root = iteration.root;
  std::string parameters = "const " + getAccumulatorType(iteration) +
                           " (&acc)[" +
                           std::to_string(root.getNumAccumulators()) + "]";
  ScalarEmitter::Sources sources;
  sources.root = getRootValue;
  ScalarEmitter emitter(writer, program, {}, std::nullopt, sources);
  for (const TileOperand &operand : iteration.operands) {
    // What is no argument of the region is held from an earlier root.
    std::string base = "held";
    if (auto argument = dyn_cast<BlockArgument>(operand.value))
      base = cast<StepOp>(argument.getOwner()->getParentOp())
                 .getInputBuffer(argument)
                 .getSymName()
                 .str();
    std::string name = writer.uniqueName(base + "_at");
    parameters +=
        ", " + computeType(getElementType(operand.value)) + " " + name;
    emitter.bind(operand.node, name);
  }
  SmallVector<std::string> results;
  for (const TileStore &store : iteration.stores) {
    results.push_back(writer.uniqueName("result"));
    parameters +=
        ", " + computeType(program[store.node].type) + " &" + results.back();
  }
  std::string body = writer.capture(2, [&] {
    for (auto [store, name] : llvm::zip_equal(iteration.stores, results)) {
      std::string value = emitter.emit(store.node);
      writer.line(name + " = " + value + ";");
    }
  });
  return "  FUSEC_DEVICE static void apply(" + parameters + ") {\n" + body +
         "  }\n";
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
  std::string function = emitFunction(writer, iteration);
  writer.declarations()
      << "struct " << name << " {\n  typedef " << getAccumulatorType(iteration)
      << " Accumulator;\n  static constexpr int accumulators = "
      << root.getNumAccumulators() << ";\n  typedef fusec::Pack<"
      << join(operands, &Descriptor::type) << "> Operands;\n"
      << "  typedef fusec::Pack<" << join(results, &Descriptor::type)
      << "> Results;\n  Operands operands;\n  Results results;\n"
      << function << "};\n\n";
  return "{{" + join(operands, &Descriptor::value) + "},\n      {" +
         join(results, &Descriptor::value) + "}}";
}
