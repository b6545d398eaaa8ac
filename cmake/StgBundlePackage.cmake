# Installs lib/Bundle for simulators: headers, the library as stg::bundle, and the CMake package `stgc` that finds it.
#   cmake --install build/release --component bundle --prefix DIR
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set_target_properties(stgBundle PROPERTIES EXPORT_NAME bundle POSITION_INDEPENDENT_CODE ON)
add_library(stg::bundle ALIAS stgBundle)
target_include_directories(stgBundle INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(stgBundle INTERFACE "$<INSTALL_INTERFACE:cxx_std_20>")

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stgc")
install(TARGETS stgBundle EXPORT stgcTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT bundle)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/stg/Bundle" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/stg"
  COMPONENT bundle FILES_MATCHING PATTERN "*.h")
install(EXPORT stgcTargets NAMESPACE stg:: DESTINATION "${package_dir}" COMPONENT bundle)
configure_package_config_file("${CMAKE_SOURCE_DIR}/cmake/stgcConfig.cmake.in" "${CMAKE_BINARY_DIR}/stgcConfig.cmake"
  INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/stgcConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/stgcConfig.cmake" "${CMAKE_BINARY_DIR}/stgcConfigVersion.cmake"
  DESTINATION "${package_dir}" COMPONENT bundle)
