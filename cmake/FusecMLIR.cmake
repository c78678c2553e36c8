# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds MLIR and makes its imported static libraries link statically.

# The tools are one relocatable file each: of these, only the archives will do.
set(ZLIB_USE_STATIC_LIBS ON)
find_package(ZLIB REQUIRED)
find_library(FUSEC_ZSTD_ARCHIVE NAMES libzstd.a REQUIRED)
foreach(zstd_target zstd::libzstd_shared zstd::libzstd_static)
  if(NOT TARGET ${zstd_target})
    add_library(${zstd_target} INTERFACE IMPORTED)
    target_link_libraries(${zstd_target} INTERFACE ${FUSEC_ZSTD_ARCHIVE})
  endif()
endforeach()
# LLVM's version file accepts its own minor version only, so that the major one
# is compared here.
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "fusec needs LLVM/MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${MLIR_CMAKE_DIR}; "
                      "set MLIR_DIR to the cmake/mlir folder of version 22")
endif()

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# The package is configured for the shared LLVM library and names it in the
# interface of each static MLIR library. One relocatable binary needs the
# static components instead; mixing both would give two copies of LLVM's state.
set(LLVM_LINK_LLVM_DYLIB OFF)
set(MLIR_LINK_MLIR_DYLIB OFF)
set(FUSEC_LLVM_COMPONENTS LLVMSupport LLVMCore LLVMRemarks LLVMBinaryFormat LLVMBitstreamReader
    LLVMBitReader LLVMAsmParser LLVMTargetParser LLVMDemangle LLVMFrontendOpenMP LLVMTableGen)
get_property(FUSEC_IMPORTED DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target IN LISTS FUSEC_IMPORTED)
  if(target MATCHES "^MLIR")
    get_target_property(interface ${target} INTERFACE_LINK_LIBRARIES)
    if(interface)
      set(replaced "")
      foreach(item IN LISTS interface)
        if(item STREQUAL "LLVM" OR item STREQUAL "\$<LINK_ONLY:LLVM>")
          list(APPEND replaced LLVMSupport LLVMCore LLVMRemarks LLVMBinaryFormat)
        else()
          list(APPEND replaced ${item})
        endif()
      endforeach()
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${replaced}")
    endif()
  endif()
endforeach()

# Only the Z3 wrapper inside LLVMSupport needs this shared library, and nothing
# here uses that wrapper.
get_target_property(interface LLVMSupport INTERFACE_LINK_LIBRARIES)
list(FILTER interface EXCLUDE REGEX "libz3\\.so$")
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${interface}")

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(FUSEC_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${FUSEC_LLVM_DEFINITIONS})

include(FusecTool)
