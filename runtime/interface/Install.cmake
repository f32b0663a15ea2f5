# What `cmake --install BUILD --component tilesmith` puts in place: both libraries, the public headers, a CMake package
# (find_package(tilesmith) gives tilesmith::tilesmith; COMPONENTS static gives tilesmith::tilesmith_static too), a
# pkg-config file, and the licence.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tilesmith)

# Two sets of targets: whoever links the shared library needs none of the libraries inside the static one.
install(TARGETS tilesmith_shared EXPORT tilesmithTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tilesmith NAMELINK_COMPONENT tilesmith)
install(TARGETS tilesmith_static EXPORT tilesmithStaticTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tilesmith)
add_dependencies(tilesmith_installed tilesmith_shared tilesmith_static)
foreach(set tilesmithTargets tilesmithStaticTargets)
  install(EXPORT ${set} NAMESPACE tilesmith:: DESTINATION ${package_folder} COMPONENT tilesmith)
endforeach()

install(FILES interface/gemm.hpp interface/own_kernel.hpp interface/sparse.hpp interface/tilesmith.h interface/tilesmith_sparse.h interface/tilesmith_weights.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilesmith COMPONENT tilesmith)
install(FILES ${PROJECT_SOURCE_DIR}/kernels/problem/problem.hpp ${PROJECT_SOURCE_DIR}/kernels/problem/signature.hpp
        ${PROJECT_SOURCE_DIR}/kernels/problem/type_pair.hpp ${PROJECT_SOURCE_DIR}/kernels/problem/activation.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tilesmith/kernels/problem COMPONENT tilesmith)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tilesmith)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tilesmithConfig.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/tilesmithConfig.cmake INSTALL_DESTINATION ${package_folder})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tilesmithConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tilesmithConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tilesmithConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT tilesmith)

# The prefix is the folder of the file itself, so that an install tree can be moved.
file(RELATIVE_PATH TILESMITH_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(interface/tilesmith.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tilesmith.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tilesmith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT tilesmith)
