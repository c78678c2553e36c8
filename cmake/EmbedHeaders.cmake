# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes a C++ file with the text of each of HEADERS, sorted by name.
# Raw string literals are limited in length by some compilers, so that long
# texts are split at lines into literals that the compiler joins.

set(text "// Generated from the folders named device.\n#include \"compiler/codegen/KernelSource.h\"\n\n")
string(APPEND text "llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> fusec::getDeviceHeaders() {\n")
string(APPEND text "  static const std::pair<llvm::StringRef, llvm::StringRef> headers[] = {\n")
list(SORT HEADERS COMPARE FILE_BASENAME)
foreach(header IN LISTS HEADERS)
  get_filename_component(name ${header} NAME)
  file(READ ${header} content)
  string(LENGTH "${content}" length)
  string(APPEND text "    {\"${name}\",\n")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${content}" ${at} 8000 piece)
    string(APPEND text "R\"fusec(${piece})fusec\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND text "    },\n")
endforeach()
string(APPEND text "  };\n  return headers;\n}\n")
file(WRITE ${OUTPUT} "${text}")
