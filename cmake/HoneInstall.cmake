# What `cmake --install build --prefix DIR` copies:
#   tools   bin/, with what executables are linked from (lib/honec) and what plans attention without a GPU
#   plugin  the compiler's headers, and the package that find_package(Hone) finds (HoneConfig.cmake)
#   dev     the compiler's libraries, which that package names where they are installed
include(CMakePackageConfigHelpers)

install(TARGETS hone-lsp-server hone-opt hone-plan-attention hone-reduce hone-run honec DESTINATION bin COMPONENT tools)
install(DIRECTORY ${CMAKE_BINARY_DIR}/lib/honec ${CMAKE_BINARY_DIR}/lib/hone-null-driver DESTINATION lib
  COMPONENT tools)

get_property(libraries GLOBAL PROPERTY HONE_LIBRARIES)
foreach(library ${libraries})
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:include>)
endforeach()
install(TARGETS ${libraries} honert_base EXPORT HoneTargets DESTINATION lib COMPONENT dev)
foreach(tree ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  install(DIRECTORY ${tree}/include/hone DESTINATION include COMPONENT plugin
    FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def" PATTERN "*.inc")
endforeach()

# What these include of the runtime: its base and the lists of its ABI.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/lib/base ${PROJECT_SOURCE_DIR}/runtime/include/honert
  DESTINATION include/hone/runtime COMPONENT plugin FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

set(package lib/cmake/Hone)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/HoneConfig.cmake.in HoneConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(HoneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/HoneConfig.cmake ${PROJECT_BINARY_DIR}/HoneConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/PluginVersion.cpp
  DESTINATION ${package} COMPONENT plugin)
install(EXPORT HoneTargets DESTINATION ${package} COMPONENT dev)
