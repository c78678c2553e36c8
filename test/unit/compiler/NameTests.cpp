// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model may call its tensors, dimensions and nodes anything: kernels compile,
// and no name means anything else in their text than what it names.

#include "compiler/Compiler.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

#include <set>

using namespace mlir;
using namespace fusec;

/// What has a meaning in CUDA C++, or is a name of the emitters'; names that
/// reduce to the same one; and what is no identifier at all.
static std::vector<std::string> getNastyNames() {
  std::vector<std::string> names = {
      // Words of the language, among them its alternative tokens.
      "alignas", "and", "and_eq", "asm", "auto", "bitand", "bool", "case",
      "char8_t", "class", "co_await", "compl", "concept", "const", "constexpr",
      "decltype", "delete", "do", "double", "explicit", "export", "float",
      "goto", "if", "inline", "int", "long", "module", "mutable", "namespace",
      "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
      "private", "register", "requires", "return", "short", "signed", "sizeof",
      "static", "struct", "switch", "template", "this", "thread_local", "true",
      "typedef", "typename", "union", "unsigned", "virtual", "void", "volatile",
      "wchar_t", "while", "xor", "xor_eq", "override", "final", "main",
      // Macros, and what CUDA declares.
      "NULL", "NAN", "INFINITY", "__LINE__", "__FILE__", "__func__",
      "__CUDA_ARCH__", "__CUDACC_RTC__", "CUDART_VERSION", "__cplusplus",
      "__global__", "__device__", "__shared__", "__launch_bounds__",
      "__restrict__", "__syncthreads", "blockIdx", "blockDim", "threadIdx",
      "gridDim", "warpSize", "dim3", "float4", "half", "size_t", "int64_t",
      "tex2D", "printf", "exp", "log", "min", "max", "abs", "linux", "unix",
      "assert", "std", "cudaMalloc", "clock", "signbit", "y0", "j1",
      "FUSEC_DEVICE", "FUSEC_UNROLL", "FUSEC_KERNEL", "FUSEC_HOST",
      // What the emitters say.
      "fusec", "V", "add", "lane", "width", "base", "count", "row", "row1",
      "valid1", "d0", "d1", "k", "m", "n", "group", "length", "Scope", "Config",
      "Epilogue", "epilogue", "Segment0", "acc", "operands", "results",
      "result", "result_2", "piece", "gathered", "looked", "tables", "Tables",
      "faults", "flags", "index", "at", "rows", "value", "held_at", "first",
      "shared", "phase", "batches", "lead", "i0", "concat_kernel", "matmul_add",
      "concat", "x", "x_at", "t_x", "t_t_x", "n_x", "x_map", "x_2", "x_2_2",
      // No identifiers, or the same one when reduced.
      "*/", "/*", "//", "\\", "\\\n",
      "?"
      "?/",
      "?"
      "?=",
      "\"", "'", "a b", "a.b", "a-b", "a_b", "a/b", "%s", "$x", "@x",
      "#define x", "\n#error", "\t", "0", "1x", "_", "__", ".", "-1",
      "\xc3\xa9", "\xe5\x90\x8d\xe5\x89\x8d", "\xff\xfe", "\x7f", " ", "`", "{",
      "}", ";", "x;", "R\"(", "u8R\"(x)\""};
  std::string longName(5000, 'a');
  names.push_back(longName);
  names.push_back(longName + "b");
  names.push_back(std::string(62, 'q'));
  names.push_back(std::string(64, 'q'));
  names.push_back(std::string(64, 'q') + "_2");
  return names;
}

static std::string quote(StringRef name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '"';
  llvm::printEscapedString(name, os);
  os << '"';
  return text;
}

/// A model of one family whose tensors, dimensions and nodes have these names,
/// the same for all three.
static std::string getConcat(ArrayRef<std::string> names) {
  std::string inputs, arguments, nodes, values, types, rows;
  for (auto [i, name] : llvm::enumerate(names)) {
    std::string n = std::to_string(i), separator = i ? ", " : "",
                type =
                    "tensor<?x4xf32, #fusec.sizes<[" + quote(name) + ", 4]>>";
    inputs += separator + quote(name);
    arguments += separator + "%x" + n + ": " + type;
    nodes += "  %r" + n + " = fusec.relu %x" + n + " : " + type + " loc(" +
             quote(name) + ")\n";
    values += separator + "%r" + n;
    types += separator + type;
    rows += (i ? " + " : "") + quote(name);
  }
  std::string result = "tensor<?x4xf32, #fusec.sizes<[" + rows + ", 4]>>";
  return "fusec.model @main inputs [" + inputs + "] outputs [\"y\"] {\n^bb0(" +
         arguments + "):\n" + nodes + "  %y = fusec.concat " + values +
         " axis 0 : " + types + " to " + result +
         "\n  fusec.output %y : " + result + "\n}\n";
}

/// A product whose epilogue adds tensors of these names, over rows of the
/// first one's.
static std::string getProduct(ArrayRef<std::string> names) {
  std::string rows = quote(names[0]),
              full = "tensor<?x48xf32, #fusec.sizes<[" + rows + ", 48]>>",
              left = "tensor<?x64xf32, #fusec.sizes<[" + rows + ", 64]>>",
              weight = "tensor<64x48xf32>", last = "%p";
  std::string inputs = quote(names[0]) + ", " + quote(names[1]),
              arguments = "%x: " + left + ", %w: " + weight, nodes;
  for (auto [i, name] : llvm::enumerate(names.drop_front(2))) {
    std::string n = std::to_string(i);
    inputs += ", " + quote(name);
    arguments += ", %r" + n + ": " + full;
    nodes += "  %s" + n + " = fusec.add " + last + ", %r" + n + " : " + full +
             " loc(" + quote(name) + ")\n";
    last = "%s" + n;
  }
  return "fusec.model @main inputs [" + inputs + "] outputs [\"y\"] {\n^bb0(" +
         arguments + "):\n  %p = fusec.matmul %x, %w : " + left + ", " +
         weight + " to " + full + "\n" + nodes + "  fusec.output " + last +
         " : " + full + "\n}\n";
}

/// Rows that are looked up by an index, and divided by their sums.
static std::string getRows(ArrayRef<std::string> names) {
  std::string rows = quote(names[0]), columns = quote(names[1]),
              both = "[" + rows + ", " + columns + "]>>",
              table = "tensor<?x?xf32, #fusec.sizes<[" + columns + ", " +
                      columns + "]>>",
              ids = "tensor<?xi64, #fusec.sizes<[" + rows + "]>>",
              spread = "tensor<?x?xi64, #fusec.sizes<" + both,
              wide = "tensor<?x?xf32, #fusec.sizes<" + both,
              sum = "tensor<?xf32, #fusec.sizes<[" + rows + "]>>";
  return "fusec.model @main inputs [" + rows + ", " + columns + "] outputs [" +
         quote(names[2]) + ", " + quote(names[3]) + "] {\n^bb0(%t: " + table +
         ", %i: " + ids + "):\n  %b = fusec.broadcast %i [0] : " + ids +
         " to " + spread + "\n  %g = fusec.gather %t [-1, 1] (%b) flag : (" +
         table + ", " + spread + ") -> " + wide +
         "\n  %r = fusec.reduce sum %g axes [1] : " + wide + " to " + sum +
         " loc(" + quote(names[2]) +
         ")\n  %s = fusec.broadcast %r [0] : " + sum + " to " + wide +
         "\n  %d = fusec.div %g, %s : " + wide + " loc(" + quote(names[3]) +
         ")\n  fusec.output %r, %d : " + sum + ", " + wide + "\n}\n";
}

static std::unique_ptr<Compilation> emit(const std::string &text,
                                         StringRef target) {
  CompileOptions options;
  options.targets = {target.str()};
  auto compilation = llvm::cantFail(Compilation::parse(text, options));
  llvm::cantFail(compilation->emit());
  return compilation;
}

static std::set<StringRef> getWords(StringRef text) {
  std::set<StringRef> words;
  while (!text.empty()) {
    StringRef word =
        text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    words.insert(word);
    text = text.drop_front(std::max<size_t>(word.size(), 1));
  }
  return words;
}

TEST(Names, nothingOfOursHasAPrefixOfTheirs) {
  auto expectOurs = [](StringRef text, StringRef where) {
    for (StringRef word : getWords(text))
      for (StringRef prefix : {tensorPrefix, sizePrefix})
        EXPECT_FALSE(word.starts_with(prefix))
            << word.str() << " of " << where.str();
  };
  for (auto [name, text] : getDeviceHeaders())
    expectOurs(text, name);
  for (const std::string &name : getNastyNames())
    if (!StringRef(name).starts_with(tensorPrefix) &&
        !StringRef(name).starts_with(sizePrefix))
      expectOurs(name, "the test");
}

TEST(Names, areIdentifiersOf64CharactersAndUnique) {
  UniqueNames unique;
  std::set<std::string> seen;
  for (unsigned round = 0; round < 3; ++round)
    for (const std::string &name : getNastyNames())
      for (const std::string &made :
           {unique.add(getTensorName(name)), unique.add(name)}) {
        EXPECT_TRUE(seen.insert(made).second) << made;
        EXPECT_LE(made.size(), 64u);
        EXPECT_FALSE(llvm::isDigit(made[0])) << made;
        EXPECT_TRUE(llvm::all_of(made, [](char c) {
          return llvm::isAlnum(c) || c == '_';
        })) << made;
      }
}

TEST(Names, thatAreTakenManyTimesAreFoundAtOnce) {
  UniqueNames unique;
  std::string last;
  for (unsigned i = 0; i < 200000; ++i)
    last = unique.add("x");
  EXPECT_EQ(last, "x_200000");
}

/// The text without comments and breaks of lines, which depend on the lengths
/// of names, and with each name of the model's by its number.
static std::string getForm(const std::string &text) {
  std::string form;
  std::map<StringRef, size_t> numbers;
  for (StringRef rest = text; !rest.empty();) {
    StringRef word =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (rest.starts_with("//")) {
      rest = rest.drop_until([](char c) { return c == '\n'; });
      continue;
    }
    if (llvm::isSpace(rest.front())) {
      rest = rest.ltrim();
      if (!StringRef(form).ends_with(" "))
        form += ' ';
      continue;
    }
    if (word.starts_with(tensorPrefix) || word.starts_with(sizePrefix))
      form +=
          "$" + std::to_string(
                    numbers.try_emplace(word, numbers.size()).first->second);
    else
      form += word.empty() && !rest.empty() ? rest.take_front(1) : word;
    rest = rest.drop_front(std::max<size_t>(word.size(), 1));
  }
  return form;
}

/// Kernels of models of nasty names are those of models of plain ones.
TEST(Names, changeNothingButNames) {
  std::vector<std::string> nasty = getNastyNames(), plain;
  for (size_t i = 0; i < nasty.size(); ++i)
    plain.push_back("name" + std::to_string(1000 + i));
  auto compare = [](const std::string &text, const std::string &plainText) {
    auto got = emit(text, "sm_90a"), expected = emit(plainText, "sm_90a");
    ArrayRef<EmittedKernel> a = got->getKernels().getKernels(),
                            b = expected->getKernels().getKernels();
    ASSERT_EQ(a.size(), b.size());
    for (auto [kernel, other] : llvm::zip_equal(a, b))
      EXPECT_EQ(getForm(kernel.text), getForm(other.text));
  };
  for (size_t i = 0; i + 12 <= nasty.size(); i += 12) {
    compare(getProduct(ArrayRef(nasty).slice(i, 12)),
            getProduct(ArrayRef(plain).slice(i, 12)));
    compare(getRows(ArrayRef(nasty).slice(i, 4)),
            getRows(ArrayRef(plain).slice(i, 4)));
  }
}

TEST(Names, compile) {
  KernelCompilerOptions compilerOptions;
  compilerOptions.useCache = false;
  KernelCompiler compiler(compilerOptions);
  if (auto identity = compiler.getIdentity(); !identity) {
    llvm::consumeError(identity.takeError());
    GTEST_SKIP() << "there is no NVRTC";
  }
  std::vector<std::string> names = getNastyNames();
  ArrayRef<std::string> all = names;
  std::vector<std::string> ours(llvm::find(names, "V"),
                                llvm::find(names, "*/"));
  for (const std::string &text :
       {getConcat(all), getProduct(ArrayRef(ours).take_front(14)),
        getRows(ArrayRef(ours).drop_front(14))}) {
    auto compilation = emit(text, "sm_90a");
    EXPECT_EQ(llvm::toString(compilation->compile(compiler)), "");
  }
}
