# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What a consumer of the library needs: both libraries, the headers, a CMake
# package and a pkg-config file. All of it can be moved after installation.

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/fusec)
set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS fusec_rt fusec_rt_static EXPORT fusec-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(DIRECTORY include/fusec DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT runtime)
install(EXPORT fusec-targets NAMESPACE fusec:: DESTINATION ${package} COMPONENT runtime)

configure_package_config_file(cmake/fusec-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/fusec-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/fusec-config-version.cmake
  COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH FUSEC_PC_PREFIX /prefix/${pkgconfig} /prefix)
configure_file(cmake/fusec.pc.in ${CMAKE_CURRENT_BINARY_DIR}/fusec.pc @ONLY)

install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fusec-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/fusec-config-version.cmake
  DESTINATION ${package} COMPONENT runtime)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fusec.pc DESTINATION ${pkgconfig} COMPONENT runtime)
