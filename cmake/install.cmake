# cmake --install: the library with its headers and package files, for find_package(terrace), and the command.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/terrace)
install(TARGETS terrace EXPORT terraceTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS terrace_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/terrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT terraceTargets NAMESPACE terrace:: DESTINATION ${package_folder})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/terraceConfig.cmake.in ${CMAKE_BINARY_DIR}/terraceConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/terraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/terraceConfig.cmake ${CMAKE_BINARY_DIR}/terraceConfigVersion.cmake DESTINATION ${package_folder})
