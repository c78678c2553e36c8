// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ASan's defaults in programs of a sanitised build; ASAN_OPTIONS overrides
// them. LLVM's archives are built without sanitizers and share containers and
// allocators with code that is not: they touch what the headers of the one have
// poisoned and the other did not release. What one allocation may take is
// bounded, so that a size from a file that nobody checked is an error.

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0:"
         "max_allocation_size_mb=8192";
}
