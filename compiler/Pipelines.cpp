// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Pipelines.h"
#include "compiler/Passes.h"
#include "ir/FusecOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fusec;

static std::unique_ptr<Pass> verifyLevel(StringRef level) {
  VerifyLevelOptions options;
  options.level = level.str();
  return createVerifyLevel(options);
}

void fusec::buildTensorStage(PassManager &manager,
                             const PipelineOptions &options) {
  OpPassManager &model = manager.nest<ModelOp>();
  // 1. What exporters leave behind: identities, duplicates, dead code.
  model.addPass(createCanonicalizerPass());
  model.addPass(createCSEPass());
  // 2. Tables stay narrow; everything else that inputs do not change is
  // computed here.
  model.addPass(createGatherQuantized());
  model.addPass(createFoldConstants(options.foldBudget));
  // 3. Few views in canonical form: the patterns below then meet one spelling.
  model.addPass(createSimplifyViews());
  model.addPass(createCSEPass());
  // 4. Operations found again in their expansions.
  ExpandPowersOptions powers;
  powers.exact = options.numerics == Numerics::Onnx;
  model.addPass(createExpandPowers(powers));
  model.addPass(createRecognizeActivations());
  model.addPass(createFoldScales());
  if (options.tableType != TableType::Model) {
    QuantizeTablesOptions tables;
    tables.bits = options.tableType == TableType::Int4 ? 4 : 8;
    model.addPass(createQuantizeTables(tables));
  }
  FormBagsOptions bags;
  bags.exact = options.numerics == Numerics::Onnx;
  if (options.fuse) {
    model.addPass(createFormBags(bags));
    model.addPass(createPackTables());
  }
  model.addPass(createGroupLookups());
  // Whatever looks into constants has seen them.
  model.addPass(createRecognizeRanges());
  model.addPass(createSimplifyViews());
  model.addPass(createCanonicalizerPass());
  model.addPass(createCSEPass());
  manager.addPass(verifyLevel("tensor"));
}

void fusec::buildContractions(OpPassManager &model) {
  // 1. Gate and value of one projection become products of their own.
  model.addPass(createSliceProducts());
  // 2. One form for all products, whose epilogues run over their own rows.
  model.addPass(createFormContractions());
  // 3. Segments along K: operands that lie apart, then products that are added.
  model.addPass(createSegmentConcats());
  // Views made twice of one operand would hide that it is one.
  model.addPass(createCSEPass());
  model.addPass(createMergeSummedProducts());
  // 4. Accumulators, of products that have all of their segments.
  model.addPass(createGroupMeetingProducts());
  // 5. What is left of a left operand's scale: a sum's segments have one each,
  //    which cannot move.
  model.addPass(createMoveRowScales());
}

void fusec::registerFusecPipelines() {
  PassPipelineRegistration<>(
      "fusec-contractions",
      "matrix products become contractions, and join (of a fusec.model)",
      buildContractions);
}

void fusec::buildProductStage(PassManager &manager,
                              const PipelineOptions &options) {
  OpPassManager &model = manager.nest<ModelOp>();
  // 1. Outer products that only weights multiply are never stored.
  if (options.fuse && options.numerics != Numerics::Onnx) {
    FormPairsOptions pairs;
    pairs.precision = options.precision;
    model.addPass(createFormPairs(pairs));
  }
  // 2. Weights along K, as sm_90a reads them. The plans of a bundle share them,
  //    and a target's plan depends on no other target: they lie so for all.
  model.addPass(createLayOutWeights());
  // 3. Matmuls take the form that all of their kernels have.
  buildContractions(model);
  if (options.narrowsProducts()) {
    NarrowProductsOptions narrow;
    narrow.type = options.precision;
    model.addPass(createNarrowProducts(narrow));
    model.addPass(createFoldConstants(options.foldBudget));
  }
  model.addPass(createCSEPass());
}

void fusec::buildFusionStage(PassManager &manager,
                             const PipelineOptions &options) {
  OpPassManager &model = manager.nest<ModelOp>();
  // 1. Regions.
  FormFusionsOptions fusion;
  fusion.fuse = options.fuse;
  model.addPass(createFormFusions(fusion));
  // 2. Precision inside regions, where rounding costs nothing but accuracy, and
  //    a unit in the last place saves most of the instructions.
  if (options.numerics != Numerics::Onnx) {
    model.addPass(createInvertSums());
    model.addPass(createWidenPointwise());
  }
  manager.addPass(verifyLevel("fused"));
}

void fusec::buildPlanStage(PassManager &manager,
                           const PipelineOptions &options) {
  // 1. Buffers and steps, once for each target.
  BuildPlansOptions plans;
  plans.targets.assign(options.targets.begin(), options.targets.end());
  manager.addPass(createBuildPlans(plans));
  OpPassManager &plan = manager.nest<PlanOp>();
  Products products = options.getProducts();
  // 2. Chains, epilogues that reduce rows or are of bags, and products of one
  //    operand, which limits and costs of the target decide. A chain saves
  //    most, and its kernels reduce no rows.
  if (options.fuse) {
    FormChainsOptions chains;
    chains.products = products;
    plan.addPass(createFormChains(chains));
    FormRowEpiloguesOptions rows;
    rows.products = products;
    rows.always = options.joinAlways;
    plan.addPass(createFormRowEpilogues(rows));
    FormBagEpiloguesOptions bags;
    bags.always = options.joinAlways;
    plan.addPass(createFormBagEpilogues(bags));
    GroupProductsOptions siblings;
    siblings.products = products;
    siblings.always = options.joinAlways;
    plan.addPass(createGroupProducts(siblings));
  }
  // 3. Long products, once those that share an operand are one: the buffers
  //    between their two steps need storage, too. What is split of reductions
  //    is none of the rows that others reduce again.
  if (options.fuse) {
    SplitLongProductsOptions splits;
    splits.products = products;
    splits.always = options.joinAlways;
    plan.addPass(createSplitLongProducts(splits));
    // Of products that stay whole: what is split reads its operands as they
    // are.
    FormProloguesOptions prologues;
    prologues.products = products;
    prologues.always = options.joinAlways;
    plan.addPass(createFormPrologues(prologues));
  }
  // 4. What no product makes of weights.
  plan.addPass(createFoldSteps());
  // 5. The others.
  if (options.fuse) {
    // Those of one tensor, before they are divided.
    JoinSiblingsOptions ofRows;
    ofRows.reductions = true;
    ofRows.always = options.joinAlways;
    plan.addPass(createJoinSiblings(ofRows));
    SplitReductionsOptions reductions;
    reductions.always = options.joinAlways;
    plan.addPass(createSplitReductions(reductions));
    DivideScansOptions scans;
    scans.always = options.joinAlways;
    plan.addPass(createDivideScans(scans));
    NestReductionsOptions nested;
    nested.always = options.joinAlways;
    plan.addPass(createNestReductions(nested));
    plan.addPass(createFormTransposes());
    JoinSiblingsOptions beside;
    beside.always = options.joinAlways;
    plan.addPass(createJoinSiblings(beside));
  }
  // 6. Which products may hide in the launch of another one.
  if (options.fuse)
    plan.addPass(createFindLeads());
  // 7. Storage before schedules: whether a buffer is the user's or ours decides
  //    what is known of its alignment.
  plan.addPass(createAssignStorage());
  ChooseSchedulesOptions schedules;
  schedules.products = products;
  schedules.candidates = options.candidates;
  plan.addPass(createChooseSchedules(schedules, options.tuning));
  // 8. Where they do.
  if (options.fuse) {
    LeadProductsOptions leads;
    leads.products = products;
    plan.addPass(createLeadProducts(leads));
  }
  // 9. What all of this says of each launch.
  plan.addPass(createPlanLaunches());
  manager.addPass(verifyLevel("planned"));
}

static LogicalResult run(ModuleOp module, const PipelineOptions &options,
                         void (*build)(PassManager &,
                                       const PipelineOptions &)) {
  PassManager manager(module.getContext());
  build(manager, options);
  return manager.run(module);
}

LogicalResult fusec::runTensorStage(ModuleOp module,
                                    const PipelineOptions &options) {
  return run(module, options, buildTensorStage);
}
LogicalResult fusec::runProductStage(ModuleOp module,
                                     const PipelineOptions &options) {
  return run(module, options, buildProductStage);
}
LogicalResult fusec::runFusionStage(ModuleOp module,
                                    const PipelineOptions &options) {
  return run(module, options, buildFusionStage);
}
LogicalResult fusec::runPlanStage(ModuleOp module,
                                  const PipelineOptions &options) {
  return run(module, options, buildPlanStage);
}
