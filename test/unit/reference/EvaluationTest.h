// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates programs given as text: a test states a model's body, inputs and
// what must come out.

#ifndef FUSEC_TEST_UNIT_REFERENCE_EVALUATIONTEST_H
#define FUSEC_TEST_UNIT_REFERENCE_EVALUATIONTEST_H

#include "ir/FusecOps.h"
#include "ir/reference/Elements.h"
#include "ir/reference/Evaluate.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include <cstring>
#include <gtest/gtest.h>

namespace fusec::reference {

class EvaluationTest : public ::testing::Test {
protected:
  EvaluationTest() {
    context.loadDialect<FusecDialect>();
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic &diagnostic) {
          messages += diagnostic.str() + "\n";
        });
  }

  mlir::Type type(llvm::StringRef text) {
    return mlir::parseType(text, &context);
  }

  /// Elements in their stored form, for example `float` for f32.
  template <typename T>
  Tensor tensor(llvm::StringRef elementType, llvm::ArrayRef<int64_t> sizes,
                std::vector<T> values) {
    Tensor result = Tensor::allocate(type(elementType), sizes);
    EXPECT_EQ(result.getBytes().size(), values.size() * sizeof(T));
    llvm::copy(values, result.getMutableElements<T>().begin());
    return result;
  }
  Tensor f32(llvm::ArrayRef<int64_t> sizes, std::vector<float> values) {
    return tensor<float>("f32", sizes, std::move(values));
  }
  Tensor i64(llvm::ArrayRef<int64_t> sizes, std::vector<int64_t> values) {
    return tensor<int64_t>("i64", sizes, std::move(values));
  }

  ModelOp parse(const std::string &text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return nullptr;
    return *module->getOps<ModelOp>().begin();
  }

  /// Evaluates a whole model; no outputs on failure.
  Tensors runModel(const std::string &text, llvm::ArrayRef<Tensor> inputs) {
    ModelOp model = parse(text);
    if (!model) {
      ADD_FAILURE() << messages << text;
      return {};
    }
    auto result = evaluate(model, inputs, options);
    if (failed(result))
      return {};
    faults = result->faults;
    return result->outputs;
  }

  /// Evaluates `body`, whose inputs are %a0, %a1, ... of the tensors' types and
  /// whose result is %r of type `resultType`.
  Tensor run(const std::string &body, llvm::ArrayRef<Tensor> inputs,
             const std::string &resultType) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "fusec.model @m inputs [";
    llvm::interleaveComma(llvm::seq(inputs.size()), os,
                          [&](size_t i) { os << "\"in" << i << '"'; });
    os << "] outputs [\"out\"] {\n^bb0(";
    llvm::interleaveComma(llvm::enumerate(inputs), os, [&](auto input) {
      os << "%a" << input.index() << ": "
         << mlir::RankedTensorType::get(input.value().getSizes(),
                                        input.value().getElementType());
    });
    os << "):\n" << body << "\nfusec.output %r : " << resultType << "\n}\n";
    Tensors outputs = runModel(text, inputs);
    return outputs.empty() ? Tensor() : outputs[0];
  }

  template <typename T> std::vector<T> elements(const Tensor &tensor) {
    if (!tensor)
      return {};
    auto values = tensor.getElements<T>();
    return {values.begin(), values.end()};
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  EvaluateOptions options;
  std::string messages;
  int64_t faults = 0;
};

} // namespace fusec::reference

#endif // FUSEC_TEST_UNIT_REFERENCE_EVALUATIONTEST_H
