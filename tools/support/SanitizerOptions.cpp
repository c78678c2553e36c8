// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defaults of the sanitizers in programs of a sanitised build; ASAN_OPTIONS,
// LSAN_OPTIONS and TSAN_OPTIONS override them.
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

// ThreadSanitizer: it sees the locks of libraries that are built without it,
// but not their atomics, and takes what these order for a race. None of ours
// would have one of these frames:
//   RemoveFileOnSignal: LLVM's list of files, whose names a handler may take,
//   is made of atomic pointers.
//   libnvrtc: makes its locks when they are first needed. It may be called from
//   several threads, says its documentation.
// MLIR's contexts would be more of the kind, but only one thread works in each
// where a model is one operation: passes have nothing to share out.
extern "C" const char *__tsan_default_suppressions() {
  return "race:llvm::sys::RemoveFileOnSignal\nrace:libnvrtc\n";
}
extern "C" const char *__tsan_default_options() {
  return "print_suppressions=0";
}
