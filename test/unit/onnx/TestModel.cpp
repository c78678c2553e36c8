// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/onnx/TestModel.h"

using namespace mlir;

namespace fusec::onnx::test {

ModelOp Imported::getModel() { return *module->getOps<ModelOp>().begin(); }

std::string Imported::getOutputType(unsigned i) {
  std::string text;
  llvm::raw_string_ostream(text)
      << getModel().getBody().front().getTerminator()->getOperand(i).getType();
  return text;
}
std::string Imported::print() {
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  return text;
}
std::string Imported::messages() const {
  std::string text;
  for (const Problem &problem : problems)
    text += problem.str() + " | " + problem.note + "\n";
  return text;
}

TestModel::TestModel(int64_t opset)
    : ModelBuilder(opset), context(MLIRContext::Threading::DISABLED) {}

Imported TestModel::import() {
  Imported result;
  auto module =
      importOnnx(proto.SerializeAsString(), options, context, result.problems);
  EXPECT_EQ(failed(module), !result.problems.empty());
  if (succeeded(module))
    result.module = std::move(*module);
  return result;
}

void expectProblem(TestModel &model, ProblemKind kind, llvm::StringRef text) {
  Imported imported = model.import();
  ASSERT_EQ(imported.problems.size(), 1u) << imported.messages();
  EXPECT_EQ(imported.problems[0].kind, kind) << imported.messages();
  EXPECT_NE(imported.problems[0].str().find(text.str()), std::string::npos)
      << imported.messages();
}

} // namespace fusec::onnx::test
