// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random legal programs of the tensor level, small enough to evaluate, with one
// named dimension. A seed always gives the same program and the same inputs.

#ifndef FUSEC_TEST_UNIT_RANDOM_RANDOMPROGRAM_H
#define FUSEC_TEST_UNIT_RANDOM_RANDOMPROGRAM_H

#include "ir/FusecOps.h"
#include "ir/reference/Evaluate.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <random>

namespace fusec {

class RandomProgram {
public:
  RandomProgram(mlir::MLIRContext &context, uint64_t seed);

  mlir::ModuleOp getModule() { return *module; }
  ModelOp getModel() { return *module->getOps<ModelOp>().begin(); }
  /// One tensor an input, where the named dimension has this size.
  reference::Tensors createInputs(int64_t size);

private:
  int64_t pick(int64_t below);
  mlir::Value pickFloat();
  Sizes pickSizes(unsigned rank);
  void addOp();
  mlir::Value addPointwise();
  mlir::Value addReshape();
  mlir::Value addBroadcast();
  mlir::Value addTranspose();
  mlir::Value addSlice();
  mlir::Value addConcat();
  mlir::Value addGather();
  mlir::Value addReduce();
  mlir::Value addMatmul();
  mlir::Value multiply(mlir::Value a, int64_t rows, int64_t columns);
  mlir::Value addLayer(mlir::Value a);
  void addLayers();
  void addSequence();
  void addWeightedSum(mlir::Value rows);
  void addSharedConcat(mlir::Value rows);
  mlir::Value addRows();
  mlir::Value multiplyRows(mlir::Value a, int64_t columns);
  mlir::Value mask(mlir::Value x);
  mlir::Value fit(mlir::Value value, llvm::ArrayRef<Expr> sizes);
  mlir::Value createConstant(llvm::ArrayRef<int64_t> sizes);

  std::mt19937_64 random;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::SmallVector<mlir::Value> floats;
  mlir::Value indices; // [n, 3], in 0..3
};

} // namespace fusec

#endif // FUSEC_TEST_UNIT_RANDOM_RANDOMPROGRAM_H
