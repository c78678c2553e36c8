// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defaults of the sanitizers in programs of a sanitised build; ASAN_OPTIONS and
// LSAN_OPTIONS override them.
//
// ASan: LLVM's archives are built without sanitizers and share containers and
// allocators with code that is not: they touch what the headers of the one have
// poisoned and the other did not release. What one allocation may take is
// bounded, so that a size from a file that nobody checked is an error.

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0:"
         "max_allocation_size_mb=8192";
}

// LeakSanitizer: tests load and close hundreds of libraries with thread-local
// storage, whose tables the loader moves as they grow. Following them, its
// tracer crashes at the end of some; not following them, it takes what the
// loader and the threads' library allocated for leaks. These it passes over in
// silence: tests read what programs say.
extern "C" const char *__lsan_default_options() {
  return "use_tls=0:print_suppressions=0";
}
extern "C" const char *__lsan_default_suppressions() {
  return "leak:ld-linux\nleak:rtld-malloc\nleak:pthread_setspecific\n";
}
